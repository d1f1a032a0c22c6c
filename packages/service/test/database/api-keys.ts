import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  findClientKey,
  insertApiKey,
  insertFirstApiKey,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
} from '../../src/database/api-keys.js'
import { createDatabase } from '../fixtures/service.js'

function newKey(terms: Partial<NewApiKey> = {}): NewApiKey {
  const hash = randomBytes(32).toString('hex')
  return {
    name: 'shop',
    plan: 'free',
    perMinute: null,
    perDay: null,
    scopes: [],
    expiresAt: null,
    createdBy: 'ada',
    hash,
    ...terms,
  }
}

t.test('of ten concurrent calls, one creates the first key', async (t) => {
  const sql = await createDatabase(t)
  const made = await Promise.all(Array.from({ length: 10 }, () => insertFirstApiKey(sql, newKey())))
  t.equal(made.filter(Boolean).length, 1)
  t.equal((await listApiKeys(sql)).length, 1)
  t.equal(await insertFirstApiKey(sql, newKey()), false, 'a later call does not')
})

t.test('a revoked key counts as a first key', async (t) => {
  const sql = await createDatabase(t)
  await revokeApiKey(sql, await insertApiKey(sql, newKey()), 'ben')
  t.equal(await insertFirstApiKey(sql, newKey()), false)
})

t.test('a key', async (t) => {
  const sql = await createDatabase(t)

  t.test('is found by its hash alone', async (t) => {
    const key = newKey()
    const id = await insertApiKey(sql, key)
    t.strictSame(await findClientKey(sql, key.hash), {
      id,
      plan: 'free',
      perMinute: null,
      perDay: null,
      scopes: [],
      expiresAt: null,
    })
    t.equal(await findClientKey(sql, newKey().hash), undefined)
  })

  t.test('is found and listed with its scopes, as they were given', async (t) => {
    const scopes = ['animals:write', 'https://example.com/read', 'a,b', '{}', 'NULL', "it's"]
    const key = newKey({ scopes })
    const id = await insertApiKey(sql, key)
    t.match(await findClientKey(sql, key.hash), { scopes })
    t.strictSame((await listApiKeys(sql)).find((each) => each.id === id)?.scopes, scopes)
  })

  t.test('is found with its own quotas and expiry, even if expired: the caller checks that', async (t) => {
    const expiresAt = new Date('2020-01-01T00:00:00.123Z')
    const key = newKey({ plan: 'enterprise', perMinute: 5000, perDay: 2_000_000, expiresAt })
    await insertApiKey(sql, key)
    t.match(await findClientKey(sql, key.hash), {
      plan: 'enterprise',
      perMinute: 5000,
      perDay: 2_000_000,
      expiresAt,
    })
  })

  t.test(
    'is not found once revoked, and keeps the time and the operator of its first revocation',
    async (t) => {
      const key = newKey()
      const id = await insertApiKey(sql, key)
      const stored = async () => (await listApiKeys(sql)).find((each) => each.id === id)
      t.match(await stored(), { createdBy: 'ada', revokedAt: null, revokedBy: null })
      const first = await revokeApiKey(sql, id, 'ben')
      t.match(first, { isFirst: true, revokedAt: Date, revokedBy: 'ben' })
      t.equal(await findClientKey(sql, key.hash), undefined)
      t.match(await stored(), { createdBy: 'ada', revokedAt: first?.revokedAt, revokedBy: 'ben' })
      t.strictSame(await revokeApiKey(sql, id, 'eve'), { ...first, isFirst: false })
      t.match(await stored(), { revokedAt: first?.revokedAt, revokedBy: 'ben' })
    },
  )

  t.test('has one revocation, of ten at the same time', async (t) => {
    const id = await insertApiKey(sql, newKey())
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => revokeApiKey(sql, id, `ops ${i}`)))
    t.equal(all.filter((each) => each?.isFirst).length, 1)
    t.equal(new Set(all.map((each) => `${each?.revokedBy} ${each?.revokedAt.getTime()}`)).size, 1)
  })

  t.test('that does not exist cannot be revoked', async (t) => {
    t.equal(await revokeApiKey(sql, 2n ** 63n - 1n, 'ben'), undefined)
  })

  t.test('of the release before has neither scopes nor an operator', async (t) => {
    const [row] = await sql<{ id: bigint }[]>`
      insert into api_keys (hash, name, plan, per_minute, per_day, expires_at)
      values (decode(${newKey().hash}, 'hex'), 'old', 'free', null, null, null)
      returning id`
    const { id = 0n } = row ?? {}
    await sql`update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning id`
    t.match((await listApiKeys(sql)).at(-1), {
      id,
      scopes: [],
      createdBy: null,
      revokedAt: Date,
      revokedBy: null,
    })
    t.match(await revokeApiKey(sql, id, 'ben'), { isFirst: false, revokedBy: null })
  })

  const refused: [title: string, terms: Partial<NewApiKey>, code: string][] = [
    ['one of two quotas', { perMinute: 5 }, '23514'],
    ['a quota of zero', { perMinute: 0, perDay: 5 }, '23514'],
    ['an invalid hash', { hash: 'abcd' }, '23514'],
  ]
  for (const [title, terms, code] of refused) {
    t.test(`with ${title} is rejected`, async (t) => {
      await t.rejects(insertApiKey(sql, newKey(terms)), { code })
    })
  }

  t.test('is stored once', async (t) => {
    const key = newKey()
    await insertApiKey(sql, key)
    await t.rejects(insertApiKey(sql, key), { code: '23505' })
  })
})

t.test('keys are listed in order of creation, without their hashes', async (t) => {
  const sql = await createDatabase(t)
  for (const name of ['one', 'two', 'three']) await insertApiKey(sql, newKey({ name }))
  const keys = await listApiKeys(sql)
  t.strictSame(
    keys.map(({ name }) => name),
    ['one', 'two', 'three'],
  )
  for (const key of keys) t.notOk('hash' in key)
})
