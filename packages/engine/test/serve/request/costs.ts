// The cost of judging and refusing a body-sized value. When every error was collected, each took from half a
// second to for ever.

import t from 'tap'
import { createJudge } from '../../../src/compile/code/compilers.js'
import type { Schema } from '../../../src/document/contract.js'
import { describeViolations } from '../../../src/runtime/messages.js'

// CPU instead of time: other processes may be busy, and use some of the caches. The slowest takes a tenth.
const limitMs = 1_000

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const tagged = (op: object, more: object) => ({
  type: 'object',
  required: ['op', ...Object.keys(more)],
  properties: { ...more, op },
})
const language = (name: string) => [
  tagged({ const: 'is' }, { field: { type: 'string' } }),
  tagged({ const: 'not' }, { of: ref(name) }),
  tagged({ enum: ['all', 'some'] }, { of: ref(name), or: ref(name) }),
]
const keyed = (name: string, schema: object) => ({
  type: 'object',
  required: [name],
  properties: { [name]: schema },
  additionalProperties: false,
})
const schemas = {
  OneOf: { oneOf: language('OneOf') },
  AnyOf: { anyOf: language('AnyOf') },
  Numbered: {
    oneOf: [
      tagged({ type: 'integer', const: 1 }, {}),
      tagged({ type: 'integer', const: 2 }, { of: ref('Numbered') }),
    ],
  },
  Keyed: {
    oneOf: [keyed('is', { type: 'string' }), keyed('not', ref('Keyed')), keyed('never', ref('Keyed'))],
  },
  Either: {
    type: 'object',
    anyOf: [{ properties: { of: ref('Either') } }, { properties: { of: ref('Either') } }],
    properties: { is: { type: 'string' } },
  },
}

const nested = (depth: number, leaf: unknown, around: (of: unknown) => unknown) =>
  Array.from({ length: depth }).reduce(around, leaf)
const not = (depth: number, leaf: unknown) => nested(depth, leaf, (of) => ({ op: 'not', of }))
const both = (depth: number, leaf: unknown) =>
  nested(depth, leaf, (of) => ({ op: 'all', of, or: { op: 'is', field: 'x' } }))
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, i]))
const numbers = (length: number) => Array.from({ length }, (_, i) => i)
const ones = (length: number) => Array.from({ length }, () => 1)

const is = { op: 'is', field: 'x' }
const wrong = { op: 'is', field: 1 }
const valid: [title: string, schema: Schema, value: unknown][] = [
  ['oneOf of itself', ref('OneOf'), not(90, is)],
  ['oneOf of itself, twice', ref('OneOf'), both(90, is)],
  ['anyOf of itself', ref('AnyOf'), not(90, is)],
  [
    'oneOf of itself, told apart by an integer',
    ref('Numbered'),
    nested(90, { op: 1 }, (of) => ({ op: 2, of })),
  ],
  ['oneOf of itself, told apart by a field', ref('Keyed'), nested(90, { is: 'x' }, (of) => ({ not: of }))],
  [
    '12,000 unique integers',
    { type: 'array', uniqueItems: true, items: { type: 'integer' } },
    numbers(12_000),
  ],
  ['5,400 unique objects', { type: 'array', uniqueItems: true }, numbers(5400).map((a) => ({ a }))],
  [
    '32,000 items of two types',
    { items: { oneOf: [{ type: 'integer' }, { type: 'string' }] } },
    ones(32_000),
  ],
]

const deep = (depth: number, field: string) => new RegExp(`^body(\\.of){${depth}}\\.${field}$`)
const invalid: [title: string, schema: Schema, value: unknown, message: RegExp][] = [
  ['oneOf of itself', ref('OneOf'), not(60, wrong), deep(60, 'field must be a string')],
  ['oneOf of itself, twice', ref('OneOf'), both(60, wrong), deep(60, 'field must be a string')],
  ['anyOf of itself', ref('AnyOf'), not(60, wrong), deep(60, 'field must be a string')],
  [
    'an unknown alternative of itself',
    ref('OneOf'),
    not(60, { op: 'x' }),
    deep(60, 'op must be one of: is, not, all, some'),
  ],
  [
    'alternatives without their property',
    ref('OneOf'),
    nested(60, {}, (of) => ({ of })),
    /^body\.op is required$/,
  ],
  [
    'oneOf of itself, told apart by a field',
    ref('Keyed'),
    nested(60, { is: 1 }, (of) => ({ not: of })),
    /^body must match one of 3 alternatives/,
  ],
  [
    'alternatives of itself that nothing tells apart',
    ref('Either'),
    nested(10, { is: 1 }, (of) => ({ of })),
    /^body(\.of)*\.is must be a string$/,
  ],
  [
    '32,000 items without a match',
    { contains: { type: 'string' }, minContains: 2 },
    ones(32_000),
    /must contain at least 2 items/,
  ],
  ['32,000 wrong items', { items: { type: 'string' } }, ones(32_000), /^body\[0\] must be a string$/],
  [
    '32,000 wrong integers',
    { items: { type: 'integer', format: 'int64' } },
    ones(32_000).map(() => 'x'),
    /^body\[0\] must be an integer$/,
  ],
  [
    'the last of 32,000 items',
    { items: { anyOf: [{ type: 'integer' }, { type: 'string' }] } },
    [...ones(32_000), null],
    /^body\[32000\] must be an integer or a string$/,
  ],
  [
    '6,000 unknown fields',
    { type: 'object', additionalProperties: false },
    keys(6000),
    /^body\.x0 is not a known field$/,
  ],
  [
    '6,000 unevaluated fields',
    { type: 'object', allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
    keys(6000),
    /^body\.x0 is not a known field$/,
  ],
  [
    '6,000 wrong names',
    { propertyNames: { pattern: '^y' } },
    keys(6000),
    /^body\.x0 has a name that must match/,
  ],
  [
    '6,000 fields of ten patterns',
    { patternProperties: Object.fromEntries(numbers(10).map((i) => [`${i}$`, { type: 'string' }])) },
    keys(6000),
    /must be a string/,
  ],
  [
    '1,000 errors below a long name',
    { additionalProperties: { items: { type: 'string' } } },
    { ['x'.repeat(32_000)]: ones(16_000) },
    /^body\.x{64}…\[0\] must be a string$/,
  ],
]

const judge = createJudge({ components: { schemas } })

for (const [title, schema, value] of valid) {
  t.test(`${title}: accepted at the cost of its size`, async (t) => {
    const validate = judge('body', schema)
    t.ok(leastCpu(() => t.ok(validate(structuredClone(value)))) < limitMs)
  })
}

for (const [title, schema, value, message] of invalid) {
  t.test(`${title}: refused at the cost of its size`, async (t) => {
    const validate = judge('body', schema)
    const cpu = leastCpu(() => {
      const given = structuredClone(value)
      t.notOk(validate(given))
      t.match(describeViolations('body', validate.explain(given))[0], message)
    })
    t.ok(cpu < limitMs, `${cpu} ms`)
  })
}

// Returns milliseconds.
function leastCpu(run: () => void): number {
  const costs = [1, 2, 3].map(() => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...costs)
}
