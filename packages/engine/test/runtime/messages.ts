import t from 'tap'
import { createAjv } from '../../src/compile/schemas/ajv.js'
import type { Schema } from '../../src/document/contract.js'
import { createExplain, everyError, explaining } from '../../src/runtime/explain.js'
import { describeViolations, joinViolations } from '../../src/runtime/messages.js'

function violationsOf(schema: Schema, value: unknown, part = 'body'): string[] {
  const ajv = createAjv('json')
  ajv.addSchema(schema, 'schema')
  const explain = createExplain(ajv, 'json', () => createAjv('json', everyError))
  const validate = explaining(ajv.compile({ $ref: 'schema' }), explain)
  return validate(value) ? [] : describeViolations(part, validate.explain(value))
}

const field = (schema: Schema): Schema => ({ type: 'object', properties: { a: schema } })
const list = (schema: Schema): Schema => field({ type: 'array', items: schema })

const sentences: [schema: Schema, value: unknown, sentence: string][] = [
  [{ type: 'object' }, 'x', 'body must be an object'],
  [{ type: 'object', required: ['name'] }, {}, 'body.name is required'],
  [{ type: 'object', additionalProperties: false }, { id: 1 }, 'body.id is not a known field'],
  [{ type: 'object', unevaluatedProperties: false }, { id: 1 }, 'body.id is not a known field'],
  [field({ type: 'string' }), { a: 1 }, 'body.a must be a string'],
  [field({ type: 'array' }), { a: 1 }, 'body.a must be an array'],
  [field({ type: ['string', 'null'] }), { a: 1 }, 'body.a must be a string or null'],
  [field({ exactNumber: { types: ['integer'] } }), { a: '1' }, 'body.a must be an integer'],
  [field({ enum: ['x', 'y'] }), { a: 'z' }, 'body.a must be one of: x, y'],
  [field({ type: 'string', enum: ['x', 'y'] }), { a: 1 }, 'body.a must be one of: x, y'],
  [field({ enum: ['x', '', null, { y: 1 }] }), { a: 'z' }, 'body.a must be one of: x, "", null, {"y":1}'],
  [field({ const: 'x' }), { a: 'z' }, 'body.a must be "x"'],
  [field({ minLength: 1 }), { a: '' }, 'body.a must have at least 1 character'],
  [field({ minLength: 2 }), { a: '' }, 'body.a must have at least 2 characters'],
  [field({ maxLength: 1 }), { a: 'xx' }, 'body.a must have at most 1 character'],
  [field({ pattern: '^x$' }), { a: 'y' }, 'body.a must match the pattern ^x$'],
  [field({ pattern: '^x$', 'x-pattern-description': 'an x' }), { a: 'y' }, 'body.a must be an x'],
  [
    field({ not: { not: { pattern: '^x$' } }, 'x-pattern-description': 'an x' }),
    { a: 'y' },
    'body.a must be an x',
  ],
  [field({ not: { const: 1 } }), { a: 1 }, 'body.a must not match the schema in not'],
  [field({ format: 'date' }), { a: 'y' }, 'body.a must be a date, such as 2026-11-25'],
  [field({ minItems: 1 }), { a: [] }, 'body.a must have at least 1 item'],
  [field({ maxItems: 2 }), { a: [1, 2, 3] }, 'body.a must have at most 2 items'],
  [{ prefixItems: [{}], items: false }, [1, 2], 'body must have at most 1 item'],
  [{ prefixItems: [{}, {}], unevaluatedItems: false }, [1, 2, 3], 'body must have at most 2 items'],
  [field(false as unknown as Schema), { a: 1 }, 'body.a must be absent'],
  [field({ uniqueItems: true }), { a: [1, 1] }, 'body.a must not contain the same item twice'],
  [field({ minProperties: 1 }), { a: {} }, 'body.a must have at least 1 field'],
  [field({ maxProperties: 1 }), { a: { b: 1, c: 1 } }, 'body.a must have at most 1 field'],
  [{ propertyNames: { pattern: '^x$' } }, { a: 1 }, 'body.a has a name that must match the pattern ^x$'],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'body.b is required with a'],
  [list({ type: 'string' }), { a: ['x', 1] }, 'body.a[1] must be a string'],
  [list(field({ type: 'string' })), { a: [{ a: 1 }] }, 'body.a[0].a must be a string'],
]

for (const [schema, value, sentence] of sentences) {
  t.test(`${JSON.stringify(value)} gives: ${sentence}`, async (t) => {
    t.strictSame(violationsOf(schema, value), [sentence])
  })
}

// A discriminator as the contract reader rewrites it.
const named = (schema: Schema, ...names: string[]): Schema => ({
  ...schema,
  discriminator: {
    propertyName: 'k',
    branches: names.map((name) => ({ name, mapped: name === 'M' ? ['m', 'n'] : [] })),
  },
})
const has = (name: string, schema: Schema = {}): Schema => ({
  type: 'object',
  required: [name],
  properties: { k: {}, [name]: schema },
})
const tagged = (value: string, name: string): Schema => ({
  type: 'object',
  required: ['k', name],
  properties: { k: { const: value } },
})
const tree = {
  oneOf: [
    { type: 'number' },
    { type: 'object', required: ['left'], properties: { left: { $ref: 'schema' } } },
  ],
}

const ofAlternatives: [schema: Schema, value: unknown, ...sentences: string[]][] = [
  [
    field({ contains: { const: 1 }, items: { type: 'number' } }),
    { a: [2, 'x'] },
    'body.a[1] must be a number',
    'body.a must contain at least 1 item matching the schema in contains',
  ],
  [
    field({ contains: {}, maxContains: 2 }),
    { a: [1, 2, 3] },
    'body.a must contain 1 to 2 items matching the schema in contains',
  ],
  [{ anyOf: [{ type: 'string' }, { type: 'array' }] }, 1, 'body must be a string or an array'],
  [{ oneOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'body must be a string or null'],
  [
    field({ oneOf: [{ exactNumber: { types: ['integer'] } }, { type: 'string', enum: ['all', 'none'] }] }),
    { a: 'x' },
    'body.a must be an integer or one of: all, none',
  ],
  [
    { anyOf: [{ const: 'x' }, { type: 'array' }, { enum: ['y', 'z'] }] },
    1,
    'body must be "x" or an array or one of: y, z',
  ],
  [
    field({ anyOf: [{ type: 'string', minLength: 3 }, { type: 'array' }] }),
    { a: 'x' },
    'body.a must have at least 3 characters',
  ],
  [
    { anyOf: [has('a'), has('b')] },
    {},
    'body must match one of 2 alternatives: body.a is required, or body.b is required',
  ],
  [
    { oneOf: [has('a'), has('b')] },
    { a: 1, b: 1 },
    'body must match exactly one alternative, but matches 2 of 2',
  ],
  [
    { anyOf: [{ allOf: [has('a'), has('x')] }, { allOf: [has('a'), has('y')] }] },
    {},
    'body.a is required',
    'body must match one of 2 alternatives: body.x is required, or body.y is required',
  ],
  [{ anyOf: [has('a'), { allOf: [has('a'), has('y')] }] }, {}, 'body.a is required'],
  [{ oneOf: [tagged('x', 'a'), tagged('y', 'b')] }, { k: 'x' }, 'body.a is required'],
  [{ oneOf: [tagged('x', 'a'), tagged('y', 'b')] }, { k: 'z' }, 'body.k must be one of: x, y'],
  [{ oneOf: [tagged('x', 'a'), tagged('y', 'b')] }, {}, 'body.k is required'],
  [
    { anyOf: [tagged('x', 'a'), { type: 'array' }, tagged('y', 'b'), { type: 'null' }] },
    { k: 'x' },
    'body.a is required',
  ],
  [tree, { left: { left: 'x' } }, 'body.left.left must be a number or an object'],
  [
    named({ oneOf: [has('a', { type: 'string' }), has('b')] }, 'A', 'M'),
    { k: 'A', a: 1 },
    'body.a must be a string',
  ],
  [named({ anyOf: [has('a'), has('b')] }, 'A', 'M'), { k: 'n' }, 'body.b is required'],
  [named({ oneOf: [has('a'), has('b')] }, 'A', 'M'), { k: 'M', b: 1 }, 'body.k must be one of: A, m, n'],
  [named({ oneOf: [has('a'), has('b')] }, 'A', 'M'), { a: 1 }, 'body.k is required'],
  [named({ oneOf: [has('a'), has('b')] }, 'A', 'M'), [], 'body must be an object'],
  [named({ oneOf: [has('a'), { type: 'null' }] }, 'A', ''), null],
  [named({ oneOf: [has('a'), has('b')] }, 'A', 'B'), null, 'body must be an object'],
  // One value may select both: the schemas alone decide.
  [named({ oneOf: [has('a'), has('b')] }, 'A', 'A'), { a: 1 }],
  [{ if: has('a'), else: has('b') }, {}, 'body.b is required'],
]

for (const [schema, value, ...expected] of ofAlternatives) {
  t.test(`${JSON.stringify(value)} of ${JSON.stringify(schema)}`, async (t) => {
    t.strictSame(violationsOf(schema, value), expected)
  })
}

t.test('the sentence about many alternatives is bounded', async (t) => {
  const anyOf = Array.from({ length: 50 }, (_, i) => ({
    type: 'object',
    required: Array.from({ length: 50 }, (_, j) => `${'x'.repeat(60)}${i}_${j}`),
  }))
  const [only = '', ...others] = violationsOf({ anyOf }, {})
  t.strictSame(others, [])
  t.ok(only.length < 700, only)
})

t.test('the sentence about many values names the first hundred', async (t) => {
  const values = Array.from({ length: 5_000 }, (_, i) => i + 1)
  const shown = values.slice(0, 100).join(', ')
  t.strictSame(violationsOf({ enum: values }, 0), [`body must be one of: ${shown} or 4900 more`])
  t.strictSame(violationsOf({ enum: values.slice(0, 100) }, 0), [`body must be one of: ${shown}`])
})

t.test('a valid value has no violations', async (t) => {
  t.strictSame(violationsOf(field({ type: 'string' }), { a: 'x' }), [])
})

t.test('each place has one sentence, with its first problem', async (t) => {
  const schema = field({ type: 'string', minLength: 3, pattern: '^x' })
  t.strictSame(violationsOf(schema, { a: 'y' }), ['body.a must have at least 3 characters'])
})

t.test('every place has its own sentence', async (t) => {
  const schema = { ...field({ type: 'string' }), required: ['b'], additionalProperties: false }
  t.strictSame(violationsOf(schema, { a: 1, c: 2 }).sort(), [
    'body.a must be a string',
    'body.b is required',
    'body.c is not a known field',
  ])
})

t.test('parameters are called parameters', async (t) => {
  const none = { type: 'object', additionalProperties: false }
  for (const part of ['path', 'query', 'header']) {
    t.strictSame(violationsOf(none, { x: '1' }, part), [`${part}.x is not a known parameter`])
  }
})

const names: [name: string, shown: string][] = [
  ['plain_name-1', '.plain_name-1'],
  ['$ref', '.$ref'],
  ['', '[""]'],
  ['a.b', '["a.b"]'],
  ['a/b~c', '["a/b~c"]'],
  ['a b', '["a b"]'],
  ['__proto__', '.__proto__'],
  ['line\nbreak', '["line\\nbreak"]'],
  ['"; drop', '["\\"; drop"]'],
  ['\u001b[31m', '["\\u001b[31m"]'],
  ['\ud800', '["\\ud800"]'],
  ['名前', '["名前"]'],
  ['x'.repeat(64), `.${'x'.repeat(64)}`],
  ['x'.repeat(65), `.${'x'.repeat(64)}…`],
  [`${'x'.repeat(63)}😀`, `["${'x'.repeat(63)}\\ud83d…"]`],
]

for (const [name, shown] of names) {
  t.test(
    `the name ${JSON.stringify(name).slice(0, 20)} is shown harmlessly, as unknown and as a place`,
    async (t) => {
      const value = JSON.parse(`{${JSON.stringify(name)}:1}`)
      const unknown = { type: 'object', additionalProperties: false }
      const wrong = { type: 'object', additionalProperties: { type: 'string' } }
      t.strictSame(violationsOf(unknown, value), [`body${shown} is not a known field`])
      t.strictSame(violationsOf(wrong, value), [`body${shown} must be a string`])
    },
  )
}

t.test('a message has 20 sentences and the number of the others', async (t) => {
  const sentences = Array.from({ length: 20 }, (_, i) => `sentence ${i}`)
  t.equal(joinViolations([]), '')
  t.equal(joinViolations(['one']), 'one')
  t.equal(joinViolations(sentences), sentences.join('; '))
  t.equal(joinViolations([...sentences, 'one', 'two']), `${sentences.join('; ')}; and 2 more`)
  t.equal(joinViolations([...sentences, 'one'], false), `${sentences.join('; ')}; and more`)
})
