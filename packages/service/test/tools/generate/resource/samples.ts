// The values that a proposed test sends: valid, distinct, and in ascending order.

import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { Reader } from 'contract-engine/tools'
import t from 'tap'
import { areOrdered, literal, valuesMax, valuesOf } from '../../../../tools/generate/resource/samples.js'

const components = {
  schemas: {
    Tree: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, left: { $ref: '#/components/schemas/Tree' } },
    },
  },
}
const reader = new Reader({ components })
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
ajv.addFormat('decimal', /^\d+\.\d+$/)

t.test('values of a schema', async (t) => {
  const cases: [schema: object, count?: number][] = [
    [{ type: 'string' }],
    [{ type: 'string', minLength: 5, maxLength: 5 }],
    [{ type: 'string', maxLength: 1 }],
    ...[
      'date',
      'date-time',
      'time',
      'duration',
      'uuid',
      'email',
      'uri',
      'hostname',
      'ipv4',
      'ipv6',
      'byte',
    ].map((format): [object] => [{ type: 'string', format }]),
    [{ type: 'string', format: 'decimal' }],
    [{ type: 'string', pattern: '^[A-Z]{2}-\\d{2}$' }],
    [{ type: 'string', pattern: '^[0-9]{1,6}\\.[0-9]{2}$' }],
    [{ type: 'string', pattern: '^(a|b)$' }, 2],
    [{ type: 'string', enum: ['b', 'a', 'c'] }, 3],
    [{ type: ['string', 'null'], enum: ['b', null] }, 1],
    [{ const: 7 }, 1],
    [{ type: 'integer' }],
    [{ type: 'integer', minimum: 5, maximum: 7 }, 3],
    [{ type: 'integer', exclusiveMinimum: 3, maximum: 4 }, 1],
    [{ type: 'integer', maximum: -3 }],
    [{ type: 'integer', multipleOf: 5, minimum: 7 }],
    [{ type: 'number', minimum: 0, maximum: 1 }],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 }],
    [{ type: 'number', multipleOf: 0.01 }],
    [{ type: 'boolean' }, 2],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2, uniqueItems: true }],
    [{ type: 'array', maxItems: 0 }, 1],
    [{ type: 'object', additionalProperties: { type: 'string' }, maxProperties: 1 }],
    [{ type: 'object', required: ['a'], properties: { a: { type: 'boolean' }, b: { type: 'integer' } } }],
    [{ allOf: [{ type: 'object', required: ['a'], properties: { a: { type: 'string' } } }] }],
    [{ anyOf: [{ type: 'null' }, { type: 'integer', minimum: 3 }] }],
    [{ type: 'string', format: 'json-pointer', examples: ['/a', '/b'] }, 2],
    [{ type: 'string', format: 'json-pointer' }, 0],
  ]
  for (const [schema, count = valuesMax] of cases) {
    const values = valuesOf(reader, schema)
    t.equal(new Set(values.map((each) => JSON.stringify(each))).size, count, JSON.stringify([schema, values]))
    t.strictSame(
      values.filter((each) => !ajv.validate(schema, each)),
      [],
      'are valid',
    )
    const isScalar = values.every((each) => typeof each !== 'object')
    if (isScalar) t.ok(values.every((each, i) => i === 0 || (values[i - 1] as string) < (each as string)))
  }
  const tree = valuesOf(reader, { $ref: '#/components/schemas/Tree' })
  t.equal(tree.length, valuesMax)
  t.match(tree[0], { name: 'x1', left: { name: 'x1' } })
})

t.test('texts are in order where each collation has them so', async (t) => {
  t.ok(areOrdered(['x1', 'x2', 'ya']))
  t.ok(areOrdered([1, 2]))
  for (const unsure of [
    ['A', 'a'],
    ['a b', 'ab'],
    ['a', 'aa'],
    ['1', 'a'],
    ['a-b', 'ab'],
  ])
    t.notOk(areOrdered(unsure), unsure.join())
})

t.test('a value is written in TypeScript', async (t) => {
  const value = { a: [1, 2n, null, undefined], 'b c': "d'e", f: {} }
  t.equal(literal(value), `{ a: [1, 2n, null, undefined], 'b c': "d'e", f: {} }`)
})
