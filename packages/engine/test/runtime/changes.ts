// A value is judged as it was sent, and changed only if it is valid, whether all errors are reported or only
// one.

import t from 'tap'
import { compilable, createAjv } from '../../src/compile/schemas/ajv.js'
import { withExcuses } from '../../src/compile/schemas/default-keywords.js'
import type { Schema } from '../../src/document/contract.js'
import { changesNoted } from '../../src/runtime/changes.js'

const int64 = { type: 'integer', format: 'int64' }
const one = { default: 1 }

function validatorOf(schema: Schema, options: object = {}) {
  return createAjv('json', { ownProperties: true, ...options }).compile(
    compilable(withExcuses(schema, (each) => each)),
  )
}

const cases: [title: string, schema: Schema, value: object, after: object | undefined][] = [
  [
    'an invalid value stays as it was sent',
    { properties: { a: one, b: int64 }, minProperties: 3 },
    { b: 1 },
    undefined,
  ],
  [
    'and so do its parts',
    { required: ['x'], properties: { o: { properties: { a: one } } } },
    { o: {} },
    undefined,
  ],
  ['a valid one is changed', { properties: { a: one, b: int64 } }, { b: 1 }, { a: 1, b: 1n }],
  [
    'an alternative that fails changes nothing',
    { anyOf: [{ properties: { a: one, b: int64 }, required: ['c'] }, { properties: { d: one } }] },
    { b: 1 },
    { b: 1, d: 1 },
  ],
  [
    'nor does one within an alternative that fails',
    { oneOf: [{ anyOf: [{ properties: { a: one } }], required: ['c'] }, { properties: { b: int64 } }] },
    { b: 1 },
    { b: 1n },
  ],
  [
    'what matches as sent comes before what matches by a default, before it',
    { oneOf: [{ required: ['a'], properties: { a: one, b: int64 } }, { properties: { b: int64, c: one } }] },
    { b: 1 },
    { b: 1n, c: 1 },
  ],
  [
    'and after it',
    { anyOf: [{ properties: { b: int64, c: one } }, { required: ['a'], properties: { a: one, b: int64 } }] },
    { b: 1 },
    { b: 1n, c: 1 },
  ],
  [
    'also of a part of the value',
    {
      oneOf: [
        { properties: { o: { required: ['a'], properties: { a: one } }, d: one } },
        { properties: { o: { properties: { b: one } } } },
      ],
    },
    { o: {} },
    { o: { b: 1 } },
  ],
  [
    'a default is what makes an alternative match if nothing else does',
    {
      oneOf: [
        { required: ['a', 'b'], properties: { a: one } },
        { required: ['a', 'c'], properties: { a: { default: 2 } } },
      ],
    },
    { c: 1 },
    { a: 2, c: 1 },
  ],
  [
    'in an alternative of an alternative, too',
    { oneOf: [{ oneOf: [{ required: ['a'], properties: { a: one } }, false] }, { required: ['c'] }] },
    { c: 1 },
    { c: 1 },
  ],
  [
    'a condition excuses nothing',
    { if: { required: ['a'], properties: { a: one } }, else: { properties: { b: one } } },
    {},
    { b: 1 },
  ],
  ['not even in not', { not: { required: ['a'], properties: { a: one } } }, {}, {}],
  [
    'a default is changed like what is sent, by each schema of its property',
    {
      allOf: [
        { properties: { a: { properties: { b: int64, c: one } } } },
        { properties: { a: { default: { b: 2 } } } },
      ],
    },
    {},
    { a: { b: 2n, c: 1 } },
  ],
]

for (const allErrors of [true, false])
  for (const [title, schema, value, after] of cases)
    t.test(`${title} (${allErrors ? 'all errors' : 'one error'})`, async (t) => {
      const given = structuredClone(value)
      const isValid = validatorOf({ type: 'object', ...schema }, { allErrors })(given)
      t.equal(isValid, after !== undefined)
      t.strictSame(given, after ?? value)
      t.equal(changesNoted(), 0, 'and nothing is left noted')
    })

t.test('defaults are not shared between values', async (t) => {
  const validate = validatorOf({ properties: { a: { default: { b: [] } } } })
  const [first, second] = [{}, {}] as { a?: { b: number[] } }[]
  validate(first)
  validate(second)
  first?.a?.b.push(1)
  t.strictSame(second, { a: { b: [] } })
})

t.test('nothing is left noted by a value whose validation overflows the stack', async (t) => {
  const node = { $ref: 'node' }
  const ajv = createAjv('json', { ownProperties: true })
  ajv.addSchema({ properties: { n: node, a: one, anyOf: [node] } }, 'node')
  const validate = ajv.compile({ properties: { value: node, b: int64 } })
  let deep: object = {}
  for (let depth = 0; depth < 200_000; depth++) deep = { n: deep }
  t.notOk(validate({ b: 1, value: deep }))
  t.match(validate.errors, [{ message: 'takes too many steps to check' }])
  t.equal(changesNoted(), 0)
})
