// Values for schemas: the first that the contract's own validator accepts.

import { contractOf } from 'contract-testing/engine'
import { Random, randomPart, randomSchema } from 'contract-testing/random-schemas'
import t from 'tap'
import { valuesOf } from '../../../src/compile/examples/values.js'
import { makingParts } from '../../../src/mock/made-response.js'
import { formats } from '../../../src/runtime/formats.js'

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const text = { type: 'string' }
const Node = object({ name: text, next: { $ref: '#/components/schemas/Node' } }, { required: ['name'] })
const kind = (more: object) =>
  object({ kind: { type: 'string' }, ...more }, { required: ['kind', ...Object.keys(more)] })
const schemas = {
  Node,
  List: object(
    { rest: { oneOf: [{ $ref: '#/components/schemas/List' }, { type: 'null' }] } },
    { required: ['rest'] },
  ),
  Cat: kind({ lives: { type: 'integer' } }),
  Dog: kind({ name: { type: 'string', example: 'Rex' } }),
  Tree: object(
    Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [
        name,
        { oneOf: [{ $ref: '#/components/schemas/Tree' }, { type: 'null' }] },
      ]),
    ),
    { required: ['a', 'b', 'c'] },
  ),
  Never: false,
}
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const discriminator = { propertyName: 'kind', mapping: { meow: '#/components/schemas/Cat' } }

async function partsOf(schema: unknown, more: object = {}) {
  const content = { 'application/json': { schema } }
  const responses = { 200: { description: 'It.', content } }
  const contract = await contractOf({
    paths: { '/it': { get: { operationId: 'it', responses } } },
    components: { schemas: { ...schemas, ...more } },
  })
  const [response] = contract.operations.get('it')?.responses.values() ?? []
  return { parts: makingParts(contract), schema: response?.contents[0]?.schema ?? true }
}

async function firstOf(schema: unknown): Promise<unknown> {
  const { parts, schema: read } = await partsOf(schema)
  for (const value of valuesOf(read, parts)) if (parts.accepts(read, value)) return value
  return undefined
}

const list = (length: number): unknown => (length === 0 ? null : { rest: list(length - 1) })

const cases: readonly (readonly [title: string, schema: unknown, value: unknown])[] = [
  ['an example of the schema', { type: 'integer', example: 42 }, 42],
  ['examples of 3.1', { type: 'string', examples: ['Rex', 'Misty'] }, 'Rex'],
  ['a default', { type: 'string', default: 'brown' }, 'brown'],
  ['no example that the schema forbids', { type: 'integer', example: 'many', minimum: 3 }, 3],
  ['a constant', { const: 'x' }, 'x'],
  ['the first of an enum', { type: 'string', enum: ['b', 'a'] }, 'b'],
  ['a value before null', { type: ['null', 'integer'] }, 1],
  ['every field', object({ a: { type: 'integer' }, b: { type: 'boolean' } }), { a: 1, b: true }],
  ['no field that is only sent', object({ a: text, b: { ...text, writeOnly: true } }), { a: 'text' }],
  ['the example of an object whole', { ...object({ a: text, b: text }), example: { a: 'x' } }, { a: 'x' }],
  [
    'the parts of allOf together',
    { allOf: [object({ a: text }), object({ b: text })] },
    { a: 'text', b: 'text' },
  ],
  [
    'limits of all parts',
    {
      allOf: [
        { type: 'integer', minimum: 5 },
        { type: 'number', maximum: 5 },
      ],
    },
    5,
  ],
  ['a multiple within exclusive limits', { type: 'integer', exclusiveMinimum: 10, multipleOf: 4 }, 12],
  ['a fraction between', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ['a text that is long enough', { ...text, minLength: 10 }, 'texttextte'],
  ['a text that is short enough', { ...text, maxLength: 2 }, 'a'],
  ['as many items as there must be', { type: 'array', items: text, minItems: 2 }, ['text', 'text 2']],
  ['no item twice', { type: 'array', items: { type: 'integer' }, minItems: 3, uniqueItems: true }, [1, 2, 3]],
  ['integers of 64 bits', { type: 'integer', format: 'int64', minimum: 2n ** 53n + 1n }, 2n ** 53n + 1n],
  [
    'different objects',
    { type: 'array', items: object({ id: { type: 'integer' } }), minItems: 2, uniqueItems: true },
    [{ id: 1 }, { id: 2 }],
  ],
  [
    'each of an enum',
    { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
    ['a', 'b', 'c'],
  ],
  [
    'both booleans',
    { type: 'array', items: { type: 'boolean' }, minItems: 2, uniqueItems: true },
    [true, false],
  ],
  [
    'different texts of a pattern',
    { type: 'array', items: { ...text, pattern: '^[a-z]{2}$' }, minItems: 3, uniqueItems: true },
    ['aa', 'ba', 'ca'],
  ],
  [
    'different lists',
    {
      type: 'array',
      items: { type: 'array', items: { type: 'integer' }, maxItems: 1 },
      minItems: 2,
      uniqueItems: true,
    },
    [[1], [2]],
  ],
  [
    'different texts of a format',
    { type: 'array', items: { ...text, format: 'date' }, minItems: 2, uniqueItems: true },
    ['2026-11-26', '2026-11-25'].reverse(),
  ],
  ['a long text of a format', { ...text, format: 'email', minLength: 30 }, 'ann@example.example.example.org'],
  ['a short one', { ...text, format: 'email', maxLength: 6 }, 'a@b.co'],
  [
    'a format that ends as its pattern says',
    { ...text, format: 'email', pattern: '@corp\\.com$' },
    'a@corp.com',
  ],
  [
    'as many names as there must be',
    { type: 'object', minProperties: 2, propertyNames: { enum: ['en', 'de'] }, additionalProperties: text },
    { en: 'text', de: 'text' },
  ],
  [
    'names by their pattern, each once',
    {
      type: 'object',
      minProperties: 2,
      propertyNames: { pattern: '^[a-z]{2}$' },
      additionalProperties: text,
    },
    { aa: 'text', ba: 'text' },
  ],
  [
    'no more fields than there may be',
    { ...object({ a: text, b: text }, { required: ['b'] }), maxProperties: 1 },
    { b: 'text' },
  ],
  ['what a list must contain', { type: 'array', contains: { const: 7 } }, [7]],
  ['a tuple', { type: 'array', prefixItems: [text, { type: 'boolean' }], items: false }, ['text', true]],
  ['a map', { type: 'object', additionalProperties: { type: 'integer' } }, { key: 1 }],
  [
    'names by their pattern',
    { type: 'object', minProperties: 1, patternProperties: { '^x-[a-z]$': text } },
    { 'x-a': 'text' },
  ],
  [
    'the way of a discriminator',
    { oneOf: [ref('Cat'), ref('Dog')], discriminator },
    { kind: 'meow', lives: 1 },
  ],
  ['a schema within itself, to its end', ref('List'), list(6)],
  [
    'one way where two would match',
    {
      oneOf: [
        object({ a: text }),
        object({ a: text, b: text }, { required: ['b'], additionalProperties: false }),
      ],
    },
    { a: 'text' },
  ],
  ['nothing of a schema that allows nothing', ref('Never'), undefined],
]

for (const [title, schema, value] of cases) {
  t.test(`made: ${title}`, async (t) => {
    t.strictSame(await firstOf(schema), value)
    t.strictSame(await firstOf(schema), value, 'and again')
  })
}

t.test('a tree comes to its leaves, and one without leaves to an end', async (t) => {
  t.match(await firstOf(ref('Tree')), { a: Object, b: Object, c: Object })
  const endless = { required: ['a', 'b'], properties: { a: ref('Endless'), b: ref('Endless') } }
  const { parts } = await partsOf(true, { Endless: { type: 'object', ...endless } })
  t.strictSame(
    [...valuesOf(ref('Endless'), parts)].filter((each) => parts.accepts(ref('Endless'), each)),
    [],
  )
})

t.test(
  'schemas that require the next twice are given up after as many values, however deep they are',
  async (t) => {
    const judgedOf = async (levels: number) => {
      const next = (i: number) => object({ a: ref(`L${i}`), b: ref(`L${i}`) }, { required: ['a', 'b'] })
      const entries = Array.from({ length: levels }, (_, i) => [`L${i}`, next(i + 1)] as const)
      const more = { ...Object.fromEntries(entries), [`L${levels}`]: text }
      const { parts, schema } = await partsOf(ref('L0'), more)
      let made = 0
      const reader = new Proxy(parts.reader, {
        get: (target, name) => {
          const value = Reflect.get(target, name)
          if (name === 'node') made++
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const values = [...valuesOf(schema, { ...parts, reader })]
      return { made, isFound: values.some((value) => parts.accepts(schema, value)) }
    }
    t.equal((await judgedOf(10)).isFound, true)
    const [twelve, many] = [await judgedOf(12), await judgedOf(24)]
    t.strictSame([twelve.isFound, many.isFound], [false, false])
    for (const { made } of [twelve, many]) t.ok(made < 50_000, `${made} references followed`)
  },
)

t.test('each format has a text that is of it', async (t) => {
  for (const format of Object.keys(formats))
    t.type(await firstOf({ type: 'string', format }), 'string', format)
})

t.test('a value is found for a random schema, unless no value matches it', async (t) => {
  let found = 0
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed)
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } }
    const contract = await contractOf({
      paths: { '/it': { get: { operationId: 'it', responses: { 200: { description: 'It.', content } } } } },
      components: { schemas: { Body: randomSchema(random), Part: randomPart(random) } },
    }).catch(() => undefined)
    if (contract === undefined) continue
    const parts = makingParts(contract)
    const schema = { $ref: '#/components/schemas/Body' }
    found += Number([...valuesOf(schema, parts)].some((each) => parts.accepts(schema, each)))
  }
  t.ok(found > 45, `${found} of 60`)
})
