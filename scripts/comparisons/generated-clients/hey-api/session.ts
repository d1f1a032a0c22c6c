// A session with the client that hey-api generates. Exits with 1 at the first unexpected result.

import { createPet, getPet, listPets, type Pet } from './client'
import { type Client, createClient } from './client/client'
import { exact } from './exact'

const most = 9223372036854775807n
const { URL: url = '', FUTURE_URL: futureUrl = '', KEY: key = '', FREE_KEY: freeKey = '' } = process.env

const client = open(url, key)
const throwOnError = true
const create = async (): Promise<Pet> => {
  const headers = { 'Idempotency-Key': process.env.IDEMPOTENCY_KEY ?? '' }
  const body = { name: 'Zoë', categoryId: most, status: 'sold' } as const
  return (await createPet({ client, headers, body, throwOnError })).data
}
const created = await create()
const { data: read } = await getPet({ client, path: { petId: created.id }, throwOnError })
expect('create and read', read.name === 'Zoë' && read.categoryId === most && read.status === 'sold', read)
const again = await create()
expect('create again', again.id === created.id, again)
const { data: least } = await createPet({
  client,
  body: { name: 'Bo', categoryId: -most - 1n },
  throwOnError,
})
expect('the least int64', least.categoryId === -most - 1n, least)

const { data: first } = await listPets({ client, query: { limit: 1 }, throwOnError })
const after = first.at(-1)?.id
const { data: second } = await listPets({ client, query: { limit: 1, after }, throwOnError })
expect('next page', second.length === 1 && second[0].id > first[0].id, second)

refused('400', await listPets({ client, query: { limit: 0 } }), 400, 'invalid_request')
refused('401', await listPets({ client: open(url, 'wrong') }), 401, 'invalid_api_key')
refused('404', await getPet({ client, path: { petId: most } }), 404, 'pet_not_found')
const free = open(url, freeKey)
let answer = await listPets({ client: free })
while (answer.error === undefined) answer = await listPets({ client: free })
refused('429', answer, 429, 'rate_limit_exceeded')
expect('Retry-After', Number(answer.response?.headers.get('Retry-After')) > 0, answer.response?.headers)

const future = open(futureUrl, key)
const list = await listPets({ client: future, throwOnError })
const [rex] = list.data
expect('new field and status', rex.id === 1n && String(rex.status) === 'reserved', rex)
refused('new error code', await getPet({ client: future, path: { petId: 1n } }), 404, 'pet_reserved')

function open(baseUrl: string, auth: string): Client {
  return createClient({ ...exact, baseUrl, auth })
}

interface Answer {
  readonly error?: { readonly code: string; readonly status: number } | undefined
  readonly response?: Response
}

function refused(label: string, { error, response }: Answer, status: number, code: string): void {
  expect(label, response?.status === status && error?.status === status && error.code === code, error)
}

function expect(label: string, ok: boolean, actual: unknown): void {
  if (!ok) throw new Error(label, { cause: actual })
  console.log(label)
}
