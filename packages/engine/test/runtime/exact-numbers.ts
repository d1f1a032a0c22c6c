import t from 'tap'
import { compilable, createAjv } from '../../src/compile/schemas/ajv.js'
import { withExactNumbers } from '../../src/compile/schemas/exact-numbers.js'
import type { Schema } from '../../src/document/contract.js'
import type { NumberMode } from '../../src/runtime/exact-numbers.js'

const int64 = { type: 'integer', format: 'int64' }

interface Outcome {
  readonly problems: (string | undefined)[]
  /** The value after validation. */
  readonly value: unknown
}

function check(mode: NumberMode, schema: Schema, value: unknown): Outcome {
  const data = { value }
  const validate = createAjv(mode).compile(
    compilable({ type: 'object', properties: { value: schema } }, mode),
  )
  validate(data)
  return { problems: (validate.errors ?? []).map(({ message }) => message), value: data.value }
}

const texts: [text: string, format: string | undefined, value: bigint | number][] = [
  ['0', 'int64', 0n],
  ['-0', 'int64', 0n],
  ['42', 'int64', 42n],
  ['9007199254740993', 'int64', 9007199254740993n],
  ['9223372036854775807', 'int64', 9223372036854775807n],
  ['-9223372036854775808', 'int64', -9223372036854775808n],
  ['2147483647', 'int32', 2147483647],
  ['-2147483648', 'int32', -2147483648],
  ['9007199254740991', undefined, 9007199254740991],
  ['-9007199254740991', undefined, -9007199254740991],
]

for (const [text, format, value] of texts) {
  t.test(`the text ${text} is an ${format ?? 'integer'}`, async (t) => {
    const schema = { type: 'integer', ...(format && { format }) }
    t.strictSame(check('text', schema, text), { problems: [], value })
  })
}

const noIntegers = [
  '',
  ' ',
  '05',
  '-05',
  '+5',
  '0x10',
  '0b1',
  '1e1',
  '1.0',
  '1.',
  ' 1',
  '1 ',
  '1\n',
  '1,000',
  '--1',
  '٣',
  'NaN',
  'Infinity',
  'true',
  'null',
  '1n',
]

for (const text of noIntegers) {
  t.test(`the text ${JSON.stringify(text.slice(0, 10))} is not an integer`, async (t) => {
    t.strictSame(check('text', int64, text), { problems: ['must be an integer'], value: text })
  })
}

t.test('a text of many digits is an integer, and out of range', async (t) => {
  const { problems } = check('text', int64, '9'.repeat(500))
  t.strictSame(problems, ['must be an integer from -9223372036854775808 to 9223372036854775807'])
})

const outside: [value: bigint, format: string | undefined, range: string][] = [
  [9223372036854775808n, 'int64', '-9223372036854775808 to 9223372036854775807'],
  [-9223372036854775809n, 'int64', '-9223372036854775808 to 9223372036854775807'],
  [2147483648n, 'int32', '-2147483648 to 2147483647'],
  [-2147483649n, 'int32', '-2147483648 to 2147483647'],
  [9007199254740992n, undefined, '-9007199254740991 to 9007199254740991'],
  [-9007199254740992n, undefined, '-9007199254740991 to 9007199254740991'],
]

for (const [value, format, range] of outside) {
  t.test(`${value} is out of range for an ${format ?? 'integer'}, in every mode`, async (t) => {
    const schema = { type: 'integer', ...(format && { format }) }
    const problems = [`must be an integer from ${range}`]
    t.strictSame(check('text', schema, String(value)).problems, problems)
    t.strictSame(check('json', schema, value).problems, problems)
    t.strictSame(check('check', schema, value).problems, problems)
  })
}

t.test('in JSON, an int64 becomes a bigint and any other integer a number', async (t) => {
  t.strictSame(check('json', int64, 3), { problems: [], value: 3n })
  t.strictSame(check('json', int64, 9223372036854775807n), { problems: [], value: 9223372036854775807n })
  t.strictSame(check('json', { type: 'integer' }, 3n), { problems: [], value: 3 })
  t.strictSame(check('json', { type: 'integer', format: 'int32' }, 3), { problems: [], value: 3 })
})

t.test('in mode check, the value is never changed', async (t) => {
  for (const value of [3, 3n, 9223372036854775807n, -9223372036854775808n]) {
    t.strictSame(check('check', int64, value), { problems: [], value })
  }
})

for (const mode of ['json', 'check'] as const) {
  for (const value of ['3', 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, true, null, [3], {}]) {
    t.test(`in mode ${mode}, ${typeof value} ${JSON.stringify(value)} is not an integer`, async (t) => {
      t.strictSame(check(mode, int64, value), { problems: ['must be an integer'], value })
    })
  }
}

const rules: [rules: Schema, accepted: bigint[], refused: bigint[], problem: string][] = [
  [{ minimum: 1 }, [1n, 2n], [0n, -1n], 'must be at least 1'],
  [{ maximum: 1 }, [1n, -5n], [2n], 'must be at most 1'],
  [{ minimum: 1, maximum: 100 }, [1n, 100n], [0n, 101n, 2n ** 63n], 'must be an integer from 1 to 100'],
  [{ exclusiveMinimum: 1 }, [2n], [1n, 0n], 'must be above 1'],
  [{ exclusiveMaximum: 1 }, [0n], [1n, 2n], 'must be below 1'],
  [
    { multipleOf: 5 },
    [0n, 5n, -10n, 9223372036854775805n],
    [1n, 9223372036854775807n],
    'must be a multiple of 5',
  ],
  [{ enum: [1, 2] }, [1n, 2n], [3n], 'must be one of: 1, 2'],
  [{ const: 7 }, [7n], [8n], 'must be 7'],
  [{ minimum: 0.5 }, [1n], [0n], 'must be at least 0.5'],
  // 2^53 as a double. The next integer has no double of its own, and must not be taken for it.
  [{ maximum: 2 ** 53 }, [2n ** 53n], [2n ** 53n + 1n], 'must be at most 9007199254740992'],
]

for (const [rule, accepted, refused, problem] of rules) {
  t.test(`${JSON.stringify(rule)} holds in every mode`, async (t) => {
    const schema = { ...int64, ...rule }
    const outcomes = (value: bigint) => [
      check('text', schema, String(value)).problems,
      check('json', schema, value).problems,
      check('check', schema, value).problems,
    ]
    for (const value of accepted) t.strictSame(outcomes(value), [[], [], []], `${value} is accepted`)
    for (const value of refused) {
      t.strictSame(outcomes(value), [[problem], [problem], [problem]], `${value} is refused`)
    }
  })
}

t.test('null is allowed only by the schema', async (t) => {
  for (const type of [
    ['integer', 'null'],
    ['null', 'integer'],
  ]) {
    const schema = { ...int64, type, minimum: 1 }
    t.strictSame(check('json', schema, null), { problems: [], value: null })
    t.strictSame(check('json', schema, 5), { problems: [], value: 5n })
    t.strictSame(check('json', schema, 0).problems, ['must be at least 1'])
    t.strictSame(check('json', schema, '5').problems, ['must be an integer'])
  }
})

const places: [place: string, schema: Schema, value: unknown][] = [
  ['a property', { properties: { a: int64 } }, { a: 2n ** 60n }],
  ['a property by pattern', { patternProperties: { '^a': int64 } }, { ab: 2n ** 60n }],
  ['additional properties', { additionalProperties: int64 }, { a: 2n ** 60n }],
  ['unevaluated properties', { unevaluatedProperties: int64 }, { a: 2n ** 60n }],
  ['items', { items: int64 }, [2n ** 60n]],
  ['the first items', { prefixItems: [int64] }, [2n ** 60n]],
  ['unevaluated items', { unevaluatedItems: int64 }, [2n ** 60n]],
  ['contains', { contains: int64 }, ['a', 2n ** 60n]],
  ['all of', { allOf: [{ properties: { a: int64 } }] }, { a: 2n ** 60n }],
  ['any of', { anyOf: [{ type: 'string' }, { items: int64 }] }, [2n ** 60n]],
  ['one of', { oneOf: [{ type: 'string' }, { items: int64 }] }, [2n ** 60n]],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  ['if and then', { if: { required: ['a'] }, then: { properties: { a: int64 } } }, { a: 2n ** 60n }],
  ['else', { if: { required: ['b'] }, else: { properties: { a: int64 } } }, { a: 2n ** 60n }],
  ['definitions', { $defs: { id: int64 }, items: { $ref: '#/properties/value/$defs/id' } }, [2n ** 60n]],
]

for (const [place, schema, value] of places) {
  t.test(`an int64 is exact in ${place}`, async (t) => {
    t.strictSame(check('check', schema, value).problems, [])
  })
}

const number = { type: 'number' }
const strict = (properties: object) => ({
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

// In either order, the value gets the number type of the alternative that matches.
const alternatives: [
  schemas: [object, object],
  ...values: [title: string, value: unknown, seen: unknown][],
][] = [
  [
    [strict({ a: int64 }), strict({ a: number, b: number })],
    ['one int64', { a: 1 }, { a: 1n }],
    ['two numbers', { a: 1, b: 2 }, { a: 1, b: 2 }],
    ['a large one', { a: 2n ** 60n }, { a: 2n ** 60n }],
  ],
  [
    [
      { items: int64, minItems: 2 },
      { items: number, maxItems: 1 },
    ],
    ['lists', [1], [1]],
    ['long lists', [1, 2], [1n, 2n]],
  ],
  [
    [
      { ...int64, not: { const: 1 } },
      { ...number, maximum: 1 },
    ],
    ['numbers', 1, 1],
    ['integers', 2, 2n],
  ],
]

for (const [[one, other], ...values] of alternatives)
  for (const [title, value, seen] of values)
    for (const keyword of ['oneOf', 'anyOf'])
      for (const schemas of [
        [one, other],
        [other, one],
      ])
        t.test(`${title}: ${keyword} ${schemas[0] === one ? 'in order' : 'reversed'}`, async (t) => {
          const given = structuredClone(value)
          const outcome = check('json', { [keyword]: schemas }, given)
          t.strictSame(outcome, { problems: [], value: seen })
        })

t.test('a condition converts nothing', async (t) => {
  const decide = (schema: Schema) => check('json', schema, { a: 1 }).value
  t.strictSame(decide({ not: strict({ a: int64, b: int64 }) }), { a: 1 })
  t.strictSame(decide({ if: strict({ a: int64, b: int64 }), else: { properties: { a: number } } }), { a: 1 })
})

t.test('an int64 is exact as a whole body', async (t) => {
  const validate = createAjv('json').compile(withExactNumbers(int64))
  t.ok(validate(3))
  t.notOk(validate('3'))
})

t.test('not with an int64 refuses an int64', async (t) => {
  t.strictSame(check('check', { not: int64 }, 2n ** 60n).problems, ['must NOT be valid'])
  t.strictSame(check('check', { not: int64 }, 'a').problems, [])
})

t.test('properties named like keywords are properties', async (t) => {
  const properties = { type: int64, default: int64, enum: int64, properties: int64, items: int64 }
  const exact = withExactNumbers({ type: 'object', properties })
  const validate = createAjv('json').compile(exact)
  const data = { type: 1, default: 2, enum: 3, properties: 4, items: 5 }
  t.ok(validate(data))
  t.strictSame(data, { type: 1n, default: 2n, enum: 3n, properties: 4n, items: 5n })
  t.notOk(validate({ ...data, type: 'integer' }))
})

t.test('data in a schema is left unchanged', async (t) => {
  const value = { type: 'integer', format: 'int64' }
  const schema = { type: 'object', default: value, const: value, enum: [value], examples: [value] }
  t.strictSame(withExactNumbers(schema), schema)
})

t.test('a schema that is true or false stays so', async (t) => {
  t.strictSame(check('json', { properties: { a: true, b: false } }, { a: 1 }).problems, [])
  t.strictSame(check('json', { properties: { a: true, b: false } }, { b: 1 }).problems, [
    'boolean schema is false',
  ])
})

t.test('the given schema is not changed', async (t) => {
  const schema = Object.freeze({
    type: 'object',
    properties: Object.freeze({ a: Object.freeze({ ...int64 }) }),
  })
  withExactNumbers(schema)
  t.strictSame(schema, { type: 'object', properties: { a: int64 } })
})

const numbers: [mode: NumberMode, schema: Schema, value: unknown, after: unknown][] = [
  ['json', { type: 'number' }, 1.5, 1.5],
  ['json', { type: 'number' }, 10n ** 20n, 1e20],
  ['text', { type: 'number' }, '1.5', 1.5],
  ['text', { type: 'number' }, '-2e3', -2000],
  ['text', { type: 'number', multipleOf: 0.01 }, '12345678901234.560', 12345678901234.56],
  ['text', { type: 'number', multipleOf: 5 }, '1e300', 1e300],
  ['text', { type: ['number', 'string'] }, '12345678901234.567', '12345678901234.567'],
  ['text', { type: ['integer', 'string'] }, 'all', 'all'],
  ['text', { type: ['integer', 'string'] }, '12', 12],
  ['json', { type: ['string', 'number'] }, 'a', 'a'],
  ['json', { type: ['number', 'null'], minimum: 1 }, null, null],
  ['json', { type: 'number', multipleOf: 0.01 }, 19.99, 19.99],
  ['json', { type: 'number', multipleOf: 1e-7 }, 3e-7, 3e-7],
  ['json', { type: 'number', minimum: 0, format: 'double' }, 0.5, 0.5],
  ['json', { type: 'number', format: 'float' }, 3.4028235e38, 3.4028235e38],
  ['json', { type: 'number', format: 'float' }, 0, 0],
  ['json', { allOf: [int64], minimum: 1 }, 3, 3n],
  ['json', { allOf: [int64], enum: [3, 'three'] }, 3, 3n],
  ['json', { minimum: 1 }, 'no number', 'no number'],
]

for (const [mode, schema, value, after] of numbers) {
  t.test(`${JSON.stringify(schema)} takes ${typeof value} ${value}`, async (t) => {
    t.strictSame(check(mode, schema, value), { problems: [], value: after })
  })
}

const noNumbers: [mode: NumberMode, schema: Schema, value: unknown, problem: string][] = [
  ['json', { type: 'number' }, '1.5', 'must be a number'],
  ['json', { type: 'number' }, 2n ** 53n + 1n, 'must be a number that a double represents exactly'],
  // 2^60 is a double, but printed as 1152921504606847000.
  ['json', { type: 'number' }, 2n ** 60n, 'must be a number that a double represents exactly'],
  ['text', { type: 'number' }, '12345678901234.567', 'must be a number that a double represents exactly'],
  ['text', { type: 'number' }, '1e400', 'must be a number that a double represents exactly'],
  ['text', { type: 'number' }, '9'.repeat(400), 'must be a number that a double represents exactly'],
  [
    'text',
    { type: 'number', multipleOf: 0.01 },
    '1234567890123456.78',
    'must be a number that a double represents exactly',
  ],
  ['json', { type: 'number' }, '12345678901234.56', 'must be a number'],
  [
    'json',
    { type: 'number', format: 'float' },
    10n ** 39n,
    'must be a number in the range of a float, such as 1.5',
  ],
  [
    'text',
    { type: 'number', format: 'float' },
    '1e-46',
    'must be a number in the range of a float, such as 1.5',
  ],
  ['check', { type: 'number' }, Number.NaN, 'must be a number'],
  ['text', { type: 'number' }, '0x10', 'must be a number'],
  ['text', { type: 'number' }, '', 'must be a number'],
  ['json', { type: 'number', minimum: 1, maximum: 2 }, 2.5, 'must be a number from 1 to 2'],
  ['json', { type: 'number', multipleOf: 0.01 }, 19.999, 'must be a multiple of 0.01'],
  ['json', { type: ['string', 'integer'] }, true, 'must be a string or an integer'],
  ['json', { allOf: [int64], minimum: 1 }, 0, 'must be at least 1'],
  ['json', { allOf: [int64], maximum: 5 }, 2n ** 60n, 'must be at most 5'],
  ['json', { allOf: [int64], enum: [3] }, 4, 'must be 3'],
]

for (const [mode, schema, value, problem] of noNumbers) {
  t.test(`${JSON.stringify(schema)} refuses ${typeof value} ${value}`, async (t) => {
    t.strictSame(check(mode, schema, value).problems, [problem])
  })
}

t.test('other types are left to Ajv', async (t) => {
  const schema = { type: 'string', enum: ['a'], format: 'date' }
  t.strictSame(withExactNumbers(schema), schema)
})

t.test('a text of ten million digits is refused without being read', async (t) => {
  const before = process.cpuUsage()
  const { problems } = check('text', int64, '9'.repeat(1e7))
  t.strictSame(problems, ['must be an integer'])
  t.ok(process.cpuUsage(before).user < 1_000_000)
})
