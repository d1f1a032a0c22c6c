import type { RootSql } from 'contract-service/internal/database/database'
import t from 'tap'
import { insertAnimals } from '../../../src/commands/seed/animals.js'
import { createDatabase } from '../../fixtures/service.js'

interface Animal {
  readonly name: string
  readonly category_id: bigint
  readonly status: string | null
}

// Adds animals with a seed, so many per statement, and returns them.
async function added(sql: RootSql, count: number, seed: number, perStatement = count): Promise<Animal[]> {
  await sql`truncate pets`
  for (let from = 1; from <= count; from += perStatement)
    await insertAnimals(sql, seed, from, Math.min(from + perStatement - 1, count))
  return [...(await sql<Animal[]>`select name, category_id, status from pets order by id`)]
}

t.test('the same seed gives the same animals, another seed different ones', async (t) => {
  const sql = await createDatabase(t)
  const first = await added(sql, 1_000, 1)
  t.equal(first.length, 1_000)
  t.strictSame(await added(sql, 1_000, 1, 300), first, 'however many a statement adds')
  t.strictSame(await added(sql, 300, 1), first.slice(0, 300), 'fewer are the first of them')
  for (const seed of [0, 2, 2 ** 32 - 1]) {
    const others = await added(sql, 1_000, seed)
    t.ok(others.filter(({ name }, i) => name === first[i]?.name).length < 50, `seed ${seed}`)
  }
})

// Also proves that PostgreSQL's hash has not changed: a new version must not change the animals of a seed.
t.test('seed 1 begins with these animals', async (t) => {
  t.strictSame(await added(await createDatabase(t), 3, 1), [
    { name: 'Molly the Koi', category_id: 7n, status: 'available' },
    { name: 'Cinnamon the Fancy Mouse', category_id: 5n, status: 'available' },
    { name: 'Figaro', category_id: 2n, status: 'available' },
  ])
})

t.test('the animals look like a store’s', async (t) => {
  const list = await added(await createDatabase(t), 20_000, 7)
  const shareOf = (test: (animal: Animal) => boolean) => list.filter(test).length / list.length
  const shares: [string, number, (animal: Animal) => boolean][] = [
    ['are available', 0.6, ({ status }) => status === 'available'],
    ['are sold', 0.25, ({ status }) => status === 'sold'],
    ['have no status', 0.03, ({ status }) => status === null],
    ['are dogs', 0.3, ({ category_id }) => category_id === 1n],
    ['are of the rarest category', 0.01, ({ category_id }) => category_id === 10n],
    ['have a name without a breed', 0.3, ({ name }) => !name.includes(' the ')],
    ['dogs are sold as often as others', 0.3 * 0.25, (a) => a.category_id === 1n && a.status === 'sold'],
  ]
  for (const [title, expected, test] of shares)
    t.ok(Math.abs(shareOf(test) - expected) < 0.02, `${expected * 100} % ${title}`)
  t.ok(
    list.every(({ name, category_id }) => !name.includes('Maine Coon') || category_id === 2n),
    'breeds match their category',
  )
  t.ok(new Set(list.map(({ name }) => name)).size > 4_000, 'names vary')
  const breeds = new Set(list.map(({ name }) => name.split(' the ')[1]))
  t.equal(breeds.size, 70 + 1, 'every breed occurs')
})
