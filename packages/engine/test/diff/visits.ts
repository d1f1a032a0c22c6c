// What contract:diff costs, and says, of schemas that each refer twice to the next.

import t from 'tap'
import { type Change, rootOf } from '../../src/diff/comparison.js'
import { diffContracts } from '../../src/diff/contract.js'
import { inside } from '../../src/diff/references.js'
import { lineOf } from '../../src/diff/report.js'
import { compareSchemas } from '../../src/diff/schemas.js'

type Schema = Readonly<Record<string, unknown>>

const object = (properties: Schema, more: Schema = {}) => ({ type: 'object', properties, ...more })
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

function documentOf(schemas: Schema, body: Schema = refTo('L0')) {
  const content = { 'application/json': { schema: body } }
  const operation = { requestBody: { content }, responses: { 200: { description: 'Done.', content } } }
  return { openapi: '3.1.0', paths: { '/t': { post: operation } }, components: { schemas } }
}

/** A document with so many levels; the first is L0. */
function levels(count: number, refer: (next: Schema) => Schema, last: Schema) {
  const entries = Array.from({ length: count }, (_, i) => [`L${i}`, refer(refTo(`L${i + 1}`))] as const)
  return documentOf({ ...Object.fromEntries(entries), [`L${count}`]: last })
}

const [was, is] = [
  object({ z: { type: 'integer', minimum: 0 } }),
  object({ z: { type: 'integer', minimum: 1 } }),
]

const forms: readonly (readonly [name: string, refer: (next: Schema) => Schema])[] = [
  ['required fields', (next) => object({ a: next, b: next }, { required: ['a', 'b'] })],
  ['optional fields', (next) => object({ a: next, b: next })],
  ['lists', (next) => object({ a: { type: 'array', items: next }, b: { type: 'array', items: next } })],
  ['allOf', (next) => ({ allOf: [object({ a: next }), object({ b: next })] })],
  ['allOf beside a field', (next) => ({ allOf: [object({ a: next }), next] })],
  ['oneOf', (next) => ({ oneOf: [object({ a: next }), { type: 'array', items: next }] })],
  ['other fields', (next) => ({ additionalProperties: next, patternProperties: { '^x': next } })],
]

// A comparison of the body alone, with all that it found on its way.
function compared(before: ReturnType<typeof documentOf>, after: ReturnType<typeof documentOf>) {
  const root = rootOf({ before, after }, 0)
  compareSchemas(inside(root, refTo('L0'), refTo('L0')))
  return root.comparison
}

for (const [name, refer] of forms)
  t.test(
    `one change below levels of ${name} is told once, and costs no more for each further level`,
    async (t) => {
      const linesAt = (count: number) =>
        diffContracts(levels(count, refer, was), levels(count, refer, is)).map(lineOf)
      const foundAt = (count: number) =>
        compared(levels(count, refer, was), levels(count, refer, is)).found.length
      const twelve = foundAt(12)
      if (!t.ok(twelve < 4_000, `${twelve} changes found below 12 levels`)) return
      t.ok(foundAt(24) < 8 * twelve, 'below 24 levels a few times as many')
      for (const count of [12, 24]) {
        const [sent, read, ...others] = linesAt(count)
        t.match(sent, /^breaking {2}POST \/t {2}body.*z: minimum 0 -> 1, and in more than 1000 more places$/)
        t.match(read, /^minor {5}POST \/t {2}200 body.*z: minimum 0 -> 1, and in more than 1000 more places$/)
        t.strictSame(others, [], `${count} levels`)
      }
    },
  )

t.test('a change below levels of allOf of the same schema is told once', async (t) => {
  const refer = (next: Schema) => ({ allOf: [next, { allOf: [next], minProperties: 1 }] })
  for (const count of [12, 24])
    t.strictSame(diffContracts(levels(count, refer, was), levels(count, refer, is)).map(lineOf), [
      'breaking  POST /t  body.z: minimum 0 -> 1',
      'minor     POST /t  200 body.z: minimum 0 -> 1',
    ])
})

t.test('alternatives that each refer twice to the next are equal, or a breaking change', async (t) => {
  const refer = (next: Schema) => ({ anyOf: [next, { allOf: [next], minProperties: 1 }] })
  t.strictSame(diffContracts(levels(24, refer, was), levels(24, refer, was)), [])
  const changes = diffContracts(levels(24, refer, was), levels(24, refer, is))
  t.ok(changes.length < 24 * 5, `${changes.length} changes`)
  t.ok(changes.some(({ bump, where }) => bump === 'major' && where.startsWith('body')))
})

t.test('a circle of schemas that refer twice to the next is compared a few times', async (t) => {
  const last = (minimum: number) => object({ again: refTo('L0'), z: { type: 'integer', minimum } })
  for (const [name, refer] of forms.filter(([name]) => name !== 'allOf beside a field')) {
    const of = (minimum: number) => levels(24, refer, last(minimum))
    t.equal(compared(of(0), of(0)).recursive.length, 0, name)
    const bumps = diffContracts(of(0), of(1)).map(({ bump }) => bump)
    t.strictSame(bumps, ['major', 'minor'], name)
  }
})

t.test('a change is told of each of ten places, and of more at the first', async (t) => {
  const fields = (count: number) =>
    object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, refTo('Part')])))
  const places = (count: number) => {
    const of = (Part: Schema) => documentOf({ Part }, fields(count))
    return diffContracts(of(was), of(is)).filter(({ bump }) => bump === 'major')
  }
  const shown = ({ where, what }: Change) => [where, what]
  t.strictSame(
    places(10).map(shown),
    Array.from({ length: 10 }, (_, i) => [`body.f${i}.z`, 'minimum 0 -> 1']),
  )
  t.strictSame(places(11).map(shown), [['body.f0.z', 'minimum 0 -> 1, and in 10 more places']])
  t.strictSame(places(500).map(shown), [['body.f0.z', 'minimum 0 -> 1, and in 499 more places']])
})

t.test('what breaks nothing in alternatives still breaks a field', async (t) => {
  const fields = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i}`, refTo('Part')]))
  const body = object({ a: { anyOf: [object(fields), { type: ['object', 'string'] }] }, b: refTo('Part') })
  const of = (Part: Schema) => documentOf({ Part }, body)
  const sent = diffContracts(of(was), of(is)).filter(({ where }) => where.startsWith('body'))
  t.strictSame(sent.map(lineOf), [
    'breaking  POST /t  body.b.z: minimum 0 -> 1',
    'minor     POST /t  body.a(1).f0.z: minimum 0 -> 1, and in 19 more places',
  ])
})
