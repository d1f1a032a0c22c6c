// A session with the client that orval generates. Exits with 1 at the first unexpected result.

import { createPet, ErrorCode, getPet, listPets, PetStatus } from './client'
import { Refusal } from './send'

const exact = 9223372036854775807n
const { URL: url = '', FUTURE_URL: futureUrl = '', KEY: key = '', FREE_KEY: freeKey = '' } = process.env

const zoe = { name: 'Zoë', categoryId: exact, status: PetStatus.sold }
const once = { 'Idempotency-Key': process.env.IDEMPOTENCY_KEY ?? '' }
const { data: created } = await createPet(zoe, once)
const { data: read } = await getPet(created.id)
const isRead = read.name === 'Zoë' && read.categoryId === exact && read.status === PetStatus.sold
expect('create and read', isRead, read)
const { data: again } = await createPet(zoe, once)
expect('create again', again.id === created.id, again)
const { data: least } = await createPet({ name: 'Bo', categoryId: -exact - 1n })
expect('the least int64', least.categoryId === -exact - 1n, least)

const { data: first } = await listPets({ limit: 1 })
const { data: second } = await listPets({ limit: 1, after: first.at(-1)?.id })
expect('next page', second.length === 1 && second[0].id > first[0].id, second)

await refused('400', () => listPets({ limit: 0 }), 400, ErrorCode.invalid_request)
await refused('401', () => listPets({}, {}, { url, key: 'wrong' }), 401, ErrorCode.invalid_api_key)
await refused('404', () => getPet(exact), 404, ErrorCode.pet_not_found)
const useUp = async () => {
  while (true) await listPets({}, {}, { url, key: freeKey })
}
const refusal = await refused('429', useUp, 429, ErrorCode.rate_limit_exceeded)
expect('Retry-After', Number(refusal.headers.get('Retry-After')) > 0, refusal.headers)

const future = { url: futureUrl, key }
const [rex] = (await listPets({}, {}, future)).data
expect('new field and status', rex.id === 1n && String(rex.status) === 'reserved', rex)
await refused('new error code', () => getPet(1n, {}, future), 404, 'pet_reserved')

async function refused(label: string, call: () => Promise<unknown>, status: number, code: string) {
  const error: unknown = await call().catch((thrown) => thrown)
  if (!(error instanceof Refusal)) throw new Error(`${label}: not refused`, { cause: error })
  const { response, body } = error
  expect(label, response.status === status && body?.status === status && body.code === code, body)
  return response
}

function expect(label: string, ok: boolean, actual: unknown): void {
  if (!ok) throw new Error(label, { cause: actual })
  console.log(label)
}
