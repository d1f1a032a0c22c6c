# A session with the client that openapi-generator generates for Ruby. Exits with 1 at the first unexpected result.

$LOAD_PATH.unshift File.join(__dir__, 'client/lib')
require 'animals'
require 'uri'

EXACT = 9_223_372_036_854_775_807

def open_store(url, key)
  address = URI(ENV.fetch(url))
  configuration = Animals::Configuration.new
  configuration.scheme = address.scheme
  configuration.host = "#{address.host}:#{address.port}"
  configuration.base_path = address.path
  configuration.server_index = nil # its own address, not the first of the contract
  configuration.access_token = key
  Animals::AnimalsApi.new(Animals::ApiClient.new(configuration))
end

def expect(label, passed, *actual)
  abort "#{label}: #{actual.inspect}" unless passed
  puts label
end

def refused(label, status, code)
  yield
  abort "#{label}: not refused"
rescue Animals::ApiError => e
  body = JSON.parse(e.response_body, symbolize_names: true)
  expect(label, e.code == status && body[:status] == status && body[:code] == code, e)
  e
end

store = open_store('URL', ENV.fetch('KEY'))
zoe = Animals::NewPet.new(name: 'Zoë', category_id: EXACT, status: Animals::PetStatus::SOLD)
create = -> { store.create_pet(zoe, idempotency_key: ENV.fetch('IDEMPOTENCY_KEY')) }
created = create.call
read = store.get_pet(created.id)
expect('create and read', [read.name, read.category_id, read.status] == ['Zoë', EXACT, 'sold'], read)
expect('create again', create.call.id == created.id)
least = store.create_pet(Animals::NewPet.new(name: 'Bo', category_id: -EXACT - 1))
expect('the least int64', least.category_id == -EXACT - 1, least)

first = store.list_pets(limit: 1)
second, _, headers = store.list_pets_with_http_info(limit: 1, after: first.last.id)
expect('next page', second.length == 1 && second[0].id > first[0].id, second, headers)

begin
  store.list_pets(limit: 0)
  abort '400: not refused by the client'
rescue ArgumentError
  puts '400, by the client'
end
refused('400', 400, 'invalid_request') { store.list_pets(after: EXACT + 1) }
refused('401', 401, 'invalid_api_key') { open_store('URL', 'wrong').list_pets }
refused('404', 404, 'pet_not_found') { store.get_pet(EXACT) }

free = open_store('URL', ENV.fetch('FREE_KEY'))
refusal = refused('429', 429, 'rate_limit_exceeded') { loop { free.list_pets } }
expect('Retry-After', refusal.response_headers.transform_keys(&:downcase)['retry-after'].to_i.positive?, refusal)

future = open_store('FUTURE_URL', 'key')
rex = future.list_pets[0]
expect('new field and status', rex.name == 'Rex' && rex.status == 'reserved', rex)
refused('new error code', 404, 'pet_reserved') { future.get_pet(1) }
