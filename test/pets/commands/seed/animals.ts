import t from 'tap'
import { type Animal, animals } from '../../../../src/commands/seed/animals.js'

function take(count: number, seed: number): Animal[] {
  const source = animals(seed)
  return Array.from({ length: count }, () => source.next().value)
}

function shareOf(list: readonly Animal[], test: (animal: Animal) => boolean): number {
  return list.filter(test).length / list.length
}

t.test('the same seed gives the same animals, another seed different ones', async (t) => {
  t.strictSame(take(1_000, 1), take(1_000, 1))
  t.not(JSON.stringify(take(10, 1)), JSON.stringify(take(10, 2)))
})

t.test('the animals look like a store’s', async (t) => {
  const list = take(20_000, 7)
  const near = (share: number, expected: number) => Math.abs(share - expected) < 0.02
  t.ok(
    near(
      shareOf(list, ({ status }) => status === 'available'),
      0.6,
    ),
  )
  t.ok(
    near(
      shareOf(list, ({ status }) => status === null),
      0.03,
    ),
  )
  t.ok(
    near(
      shareOf(list, ({ categoryId }) => categoryId === 1),
      0.3,
    ),
    'most are dogs',
  )
  t.ok(
    list.every(({ name, categoryId }) => !name.includes('Maine Coon') || categoryId === 2),
    'breeds match their category',
  )
  t.ok(new Set(list.map(({ name }) => name)).size > 4_000, 'names vary')
  t.ok(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: special characters of COPY's text format
    list.every(({ name }) => name.length <= 255 && !/[\u0000-\u001f\\]|^$| {2}|^ | $/.test(name)),
    'names need no escaping in COPY',
  )
})
