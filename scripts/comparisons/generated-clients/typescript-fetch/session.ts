// A session with openapi-generator's client for TypeScript. Exits with 1 at the first unexpected result.

import { Configuration, ErrorCode, type ModelError, PetStatus, ResponseError } from './client'
import { ExactAnimalsApi, fetchExactly } from './exact'

const exact = 9223372036854775807n
const { URL: url, FUTURE_URL: futureUrl, KEY: key, FREE_KEY: freeKey } = process.env

const store = open(url, key)
const idempotencyKey = process.env.IDEMPOTENCY_KEY
const newPet = { name: 'Zoë', categoryId: exact, status: PetStatus.Sold }
const created = await store.createPet({ newPet, idempotencyKey })
const read = await store.getPet({ petId: created.id })
const isRead = read.name === 'Zoë' && read.categoryId === exact && read.status === PetStatus.Sold
expect('create and read', isRead, read)
const again = await store.createPet({ newPet, idempotencyKey })
expect('create again', again.id === created.id, again)
const least = await store.createPet({ newPet: { name: 'Bo', categoryId: -exact - 1n } })
expect('the least int64', least.categoryId === -exact - 1n, least)

const [first] = await store.listPets({ limit: 1 })
const second = await store.listPets({ limit: 1, after: first.id })
expect('next page', second.length === 1 && second[0].id > first.id, second)

await refused('400', () => store.listPets({ limit: 0 }), 400, ErrorCode.InvalidRequest)
await refused('401', () => open(url, 'wrong').listPets(), 401, ErrorCode.InvalidApiKey)
await refused('404', () => store.getPet({ petId: exact }), 404, ErrorCode.PetNotFound)
const free = open(url, freeKey)
const useUp = async () => {
  while (true) await free.listPets()
}
const refusal = await refused('429', useUp, 429, ErrorCode.RateLimitExceeded)
expect('Retry-After', Number(refusal.headers.get('Retry-After')) > 0, refusal.headers)

const future = open(futureUrl, key)
const [rex] = await future.listPets()
expect('new field and status', rex.id === 1n && String(rex.status) === 'reserved', rex)
await refused('new error code', () => future.getPet({ petId: 1n }), 404, 'pet_reserved')

function open(basePath: string | undefined, accessToken: string | undefined): ExactAnimalsApi {
  return new ExactAnimalsApi(new Configuration({ basePath, accessToken, fetchApi: fetchExactly }))
}

async function refused(label: string, call: () => Promise<unknown>, status: number, code: string) {
  const error: unknown = await call().catch((thrown) => thrown)
  if (!(error instanceof ResponseError)) throw new Error(`${label}: not refused`, { cause: error })
  const body: ModelError = await error.response.json()
  expect(label, error.response.status === status && body.status === status && body.code === code, body)
  return error.response
}

function expect(label: string, ok: boolean, actual: unknown): void {
  if (!ok) throw new Error(label, { cause: actual })
  console.log(label)
}
