// What `unevaluatedProperties` and `unevaluatedItems` refuse beside each other applicator: with all errors,
// with one, for responses, and in the explanation.

import t from 'tap'
import { createAjv } from '../../src/compile/schemas/ajv.js'
import { compilableWithout } from '../../src/compile/schemas/read-write-only.js'
import { createReferences } from '../../src/compile/schemas/references.js'
import type { Schema } from '../../src/document/contract.js'
import { createExplain, everyError } from '../../src/runtime/explain.js'

const a = { properties: { a: {} } }
const b = { properties: { b: {} } }
const needs = (name: string) => ({ properties: { [name]: {} }, required: [name] })
const closed = { unevaluatedProperties: false }
const part = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const when = (condition: object, then: unknown, other: unknown) => ({ if: condition, then, else: other })

const schemas = {
  A: a,
  B: b,
  NeedsA: needs('a'),
  Choice: { oneOf: [needs('a'), needs('b')] },
  Closed: { ...closed, ...a },
  Node: { allOf: [{ properties: { v: {}, next: part('Node') } }], ...closed },
  Lists: { type: 'array', contains: part('Lists'), minContains: 0, unevaluatedItems: false },
}

type Row = [schema: Schema, valid: readonly unknown[], invalid: readonly unknown[]]

const rows: Row[] = [
  [{ ...closed, ...a, patternProperties: { '^x': {} } }, [{}, { a: 1, x1: 1 }, [], 'a'], [{ b: 1 }]],
  [{ ...closed, additionalProperties: {} }, [{ b: 1 }], []],
  [{ ...a, unevaluatedProperties: { type: 'string' } }, [{ a: 1, b: 'x' }], [{ b: 1 }]],
  [{ ...closed, allOf: [a, part('B')] }, [{ a: 1, b: 1 }], [{ c: 1 }]],
  [
    { ...closed, allOf: [part('A'), { anyOf: [needs('b'), needs('c'), {}] }] },
    [{ a: 1, b: 1, c: 1 }],
    [{ d: 1 }],
  ],
  // The second alternative beside a $ref.
  [
    { ...closed, allOf: [part('A')], oneOf: [needs('b'), needs('c')] },
    [{ a: 1, c: 1 }, { b: 1 }],
    [{ c: 1, d: 1 }],
  ],
  [
    { ...closed, allOf: [part('A'), part('Choice')] },
    [{ b: 1 }, { a: 1 }],
    [
      { a: 1, b: 1 },
      { b: 1, c: 1 },
    ],
  ],
  [
    { ...closed, ...a, anyOf: [needs('b'), { required: ['a'] }] },
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: 1, c: 1 }],
  ],
  // An alternative that fails evaluates nothing.
  [{ ...closed, ...a, anyOf: [{ ...b, required: ['c'] }, {}] }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  [{ ...closed, oneOf: [{ allOf: [b, { required: ['a'] }] }, a] }, [{}], [{ b: 1 }]],
  [
    { ...closed, ...a, ...when(needs('b'), { properties: { c: {} } }, { properties: { d: {} } }) },
    [
      { a: 1, b: 1, c: 1 },
      { a: 1, d: 1 },
    ],
    [{ b: 1, d: 1 }, { c: 1 }],
  ],
  [
    { ...closed, ...a, ...when(needs('b'), undefined, { properties: { d: {} } }) },
    [{ b: 1 }, { d: 1 }],
    [{ c: 1 }],
  ],
  [{ ...closed, ...a, if: needs('b') }, [{ a: 1 }, { a: 1, b: 1 }], [{ c: 1 }]],
  [{ ...closed, ...a, if: { ...b, required: ['c'] } }, [{ a: 1 }], [{ b: 1 }]],
  [{ ...closed, ...a, ...when(part('NeedsA'), part('B'), true) }, [{ a: 1, b: 1 }], [{ b: 1 }]],
  [
    { ...closed, ...a, dependentSchemas: { a: b, c: { properties: { c: {} } } } },
    [{ a: 1, b: 1 }, {}, { c: 1 }],
    [{ b: 1 }],
  ],
  [{ ...closed, ...a, not: { ...b, required: ['c'] } }, [{ a: 1 }], [{ b: 1 }]],
  [{ ...closed, ...a, not: { not: { ...b, ...closed } } }, [{}], [{ a: 1 }, { b: 1 }]],
  [{ allOf: [a, { ...b, ...closed }] }, [{ b: 1 }], [{ a: 1, b: 1 }]],
  [{ allOf: [{ ...b, ...closed }, a] }, [{ b: 1 }], [{ a: 1, b: 1 }]],
  [{ ...closed, ...b, allOf: [part('Closed')] }, [{ a: 1 }, {}], [{ b: 1 }, { c: 1 }]],
  [{ ...closed, allOf: [{ ...a, unevaluatedProperties: true }] }, [{ a: 1, b: 1 }], []],
  [part('Node'), [{ v: 1, next: { v: 1, next: {} } }], [{ w: 1 }, { next: { next: { w: 1 } } }]],
  [
    { properties: { o: { ...a, ...closed } }, allOf: [{ properties: { o: b } }] },
    [{ o: { a: 1 } }],
    [{ o: { b: 1 } }],
  ],
  [{ ...closed, ...a, propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ b: 1 }]],
  [{ ...closed, allOf: [true, a] }, [{ a: 1 }], [{ b: 1 }]],

  [{ prefixItems: [{}], unevaluatedItems: false }, [[], [1], {}], [[1, 2]]],
  [{ prefixItems: [{}], unevaluatedItems: { type: 'string' } }, [[1, 'a']], [[1, 2]]],
  [{ allOf: [{ prefixItems: [{}, {}] }], unevaluatedItems: false }, [[1, 2]], [[1, 2, 3]]],
  [
    { anyOf: [{ prefixItems: [{}, { const: 1 }] }, { prefixItems: [{}] }], unevaluatedItems: false },
    [[1, 1], [2]],
    [
      [1, 2],
      [1, 1, 1],
    ],
  ],
  [
    {
      oneOf: [{ items: { type: 'string' } }, { prefixItems: [{ type: 'integer' }] }],
      unevaluatedItems: false,
    },
    [['a', 'b'], [1]],
    [[1, 2]],
  ],
  [
    { prefixItems: [{}], ...when({ minItems: 2 }, { prefixItems: [{}, {}] }, {}), unevaluatedItems: false },
    [[1], [1, 2]],
    [[1, 2, 3]],
  ],
  // `contains` evaluates the items that match.
  [{ contains: { type: 'string' }, unevaluatedItems: false }, [['a', 'b']], [['a', 1], [1], []]],
  [{ contains: { type: 'string' }, minContains: 0, unevaluatedItems: false }, [[], ['a']], [[1]]],
  [
    { contains: { type: 'string' }, maxContains: 1, unevaluatedItems: { type: 'integer' } },
    [['a', 1]],
    [['a', 'b']],
  ],
  [
    {
      prefixItems: [{}],
      allOf: [{ contains: { const: 1 } }, { contains: { const: 2 } }],
      unevaluatedItems: false,
    },
    [
      [0, 1, 2],
      [1, 2],
    ],
    [[0, 1, 2, 3]],
  ],
  [
    { prefixItems: [{}, { type: 'string' }], contains: { const: 1 }, unevaluatedItems: false },
    [[1]],
    [[2], []],
  ],
  [part('Lists'), [[], [[], [[]]]], [[1], [[[1]]]]],
]

const document = { components: { schemas } }
const modes = { 'one error': {}, 'all errors': everyError } as const

for (const [schema, valid, invalid] of rows)
  t.test(JSON.stringify(schema), async (t) => {
    for (const [title, options] of Object.entries(modes))
      for (const mode of ['json', 'check'] as const) {
        const ajv = createAjv(mode, { ownProperties: true, ...options })
        const forbidden = mode === 'json' ? 'readOnly' : 'writeOnly'
        const withReferences = createReferences(ajv, document, compilableWithout(forbidden))
        const validate = ajv.compile(withReferences(schema) as Schema)
        const explain = createExplain(ajv, mode, () =>
          createAjv(mode, { ownProperties: true, ...everyError }),
        )
        for (const each of [...valid, ...invalid]) {
          const text = `${JSON.stringify(each)}, ${mode}, ${title}`
          t.equal(validate(structuredClone(each)), valid.includes(each), text)
          t.equal(explain(validate.schema, each).length === 0, valid.includes(each), `${text}, explained`)
        }
      }
  })

t.test('nested values are judged once at each level', async (t) => {
  const ajv = createAjv('json', { ownProperties: true })
  const withReferences = createReferences(ajv, document, compilableWithout('readOnly'))
  // A naive implementation takes twice the time with each level.
  let [lists, node]: [unknown, unknown] = [[], {}]
  for (let depth = 0; depth < 200; depth++) [lists, node] = [[lists], { v: 1, next: node }]
  t.ok(ajv.compile(withReferences(part('Lists')) as Schema)(lists))
  t.ok(ajv.compile(withReferences(part('Node')) as Schema)(node))
})
