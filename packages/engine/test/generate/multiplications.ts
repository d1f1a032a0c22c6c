import t from 'tap'
import { multiplications } from '../../src/generate/multiplications.js'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const range = (length: number) => Array.from({ length }, (_, i) => i)

function found(schemas: object): [string, number][] {
  return multiplications({ components: { schemas } }).map(({ at, text }) => [
    at.slice(2).join('/'),
    Number(/up to (\d+) ways/.exec(text)?.[1]),
  ])
}

// Levels of alternatives, each of which has the next level in the same property.
const levels = (count: number, ways: number, alternative: (next: string, i: number) => object) => ({
  ...Object.fromEntries(
    range(count).map((level) => [
      `L${level}`,
      { anyOf: range(ways).map((i) => alternative(`L${level + 1}`, i)) },
    ]),
  ),
  [`L${count}`]: { type: 'string' },
})
const open = (next: string, i: number) => ({ properties: { of: ref(next), [`p${i}`]: { type: 'string' } } })
const tagged = (next: string, i: number) => ({
  type: 'object',
  required: ['k'],
  properties: { k: { const: `${i}` }, of: ref(next) },
})

t.test('alternatives of alternatives multiply', async (t) => {
  t.strictSame(found(levels(4, 3, open)), [['L4', 81]])
  t.strictSame(found(levels(3, 3, open)), [])
})

t.test('alternatives that a property tells apart do not', async (t) => {
  t.strictSame(found(levels(6, 4, tagged)), [])
})

t.test('parts of an allOf, items and names of any kind multiply', async (t) => {
  const parts = (of: (next: string) => object) =>
    Object.fromEntries(range(6).map((i) => [`L${i}`, { allOf: [of(`L${i + 1}`), of(`L${i + 1}`)] }]))
  for (const of of [
    (next: string) => ({ items: ref(next) }),
    (next: string) => ({ additionalProperties: ref(next) }),
    (next: string) => ({ patternProperties: { '^a': ref(next) } }),
  ])
    t.strictSame(found({ ...parts(of), L6: { type: 'string' } }), [['L6', 64]])
})

t.test('a schema that leads back to itself is counted once', async (t) => {
  t.strictSame(found({ A: { properties: { a: ref('A'), b: ref('B') } }, B: { items: ref('A') } }), [])
})

t.test('schemas that multiply within the same value are told without following each way', async (t) => {
  const chain = range(40).map((i) => [`L${i}`, { allOf: [ref(`L${i + 1}`), ref(`L${i + 1}`)] }])
  const told = found({ ...Object.fromEntries(chain), L40: { properties: { a: ref('L0') } } })
  t.strictSame([told.length, told[0]], [10, ['L0', 2 ** 41 - 1]])
})

t.test('at most ten are told', async (t) => {
  const roots = Object.fromEntries(range(20).map((i) => [`R${i}`, { allOf: [ref('L0')] }]))
  t.equal(found({ ...roots, ...levels(20, 2, open) }).length, 10)
})
