$LOAD_PATH.unshift File.join(__dir__, 'ruby/lib')
require 'openapi_client'
require 'uri'

configuration = OpenapiClient::Configuration.new
configuration.scheme = 'http'
configuration.host = URI(ENV.fetch('URL')).then { |url| "#{url.host}:#{url.port}" }
configuration.base_path = ''
configuration.server_index = nil
items = OpenapiClient::DefaultApi.new(OpenapiClient::ApiClient.new(configuration))
patch = OpenapiClient::ItemPatch.new(note: nil)
items.patch_item(1, patch)
items.patch_both(1, patch)
