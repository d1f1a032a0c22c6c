import t from 'tap'
import { toOpenApi30 } from '../../../src/compile/documents/openapi-3.0.js'

const nullAlone = { type: 'object', enum: [null], nullable: true }

// Schemas in 3.1, and their conversion to 3.0.
const schemas: [title: string, schema: unknown, old: object][] = [
  [
    'a type or null',
    { type: ['string', 'null'], maxLength: 3 },
    { type: 'string', maxLength: 3, nullable: true },
  ],
  [
    'several types',
    { type: ['string', 'integer'], minimum: 1 },
    { minimum: 1, allOf: [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }] },
  ],
  [
    'an int64 or a text',
    { type: ['integer', 'string'], format: 'int64' },
    { format: 'int64', allOf: [{ anyOf: [{ type: 'integer', format: 'int64' }, { type: 'string' }] }] },
  ],
  ['null alone', { type: 'null' }, nullAlone],
  ['null as its value', { const: null }, nullAlone],
  [
    'a reference or null',
    { anyOf: [{ $ref: '#/a' }, { type: 'null' }] },
    { anyOf: [{ $ref: '#/a' }, nullAlone] },
  ],
  [
    'null or a reference, with a text',
    { description: 'A.', oneOf: [{ type: 'null' }, { $ref: '#/a' }] },
    { description: 'A.', oneOf: [nullAlone, { $ref: '#/a' }] },
  ],
  [
    'one of two references or null',
    { oneOf: [{ $ref: '#/a' }, { $ref: '#/b' }, { const: null }] },
    { oneOf: [{ $ref: '#/a' }, { $ref: '#/b' }, nullAlone] },
  ],
  [
    'a text or null',
    { description: 'A.', anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
    { description: 'A.', type: 'string', maxLength: 3, nullable: true },
  ],
  [
    'a list or null, beside what it says itself',
    { maxItems: 2, oneOf: [{ type: 'array', maxItems: 3 }, { type: 'null' }] },
    { maxItems: 2, oneOf: [{ type: 'array', maxItems: 3, items: {} }, nullAlone] },
  ],
  [
    'a combination or null',
    { oneOf: [{ type: 'object', not: { $ref: '#/a' } }, { type: 'null' }] },
    { oneOf: [{ type: 'object', not: { $ref: '#/a' } }, nullAlone] },
  ],
  ['one value', { const: 5n }, { type: 'integer', enum: [5n] }],
  ['an integer that no double keeps', { const: 2n ** 53n }, { enum: [2n ** 53n] }],
  ['one text', { const: 'a' }, { type: 'string', enum: ['a'] }],
  ['values without a type', { enum: [1, 2.5] }, { type: 'number', enum: [1, 2.5] }],
  ['values or null', { enum: ['a', null] }, { type: 'string', enum: ['a', null], nullable: true }],
  ['lists as values', { enum: [['a']] }, { type: 'array', enum: [['a']], items: {} }],
  ['true as its value', { const: true }, { type: 'boolean', enum: [true] }],
  ['objects as values', { enum: [{}] }, { type: 'object', enum: [{}] }],
  ['values of several types', { enum: ['a', 1] }, { enum: ['a', 1] }],
  [
    'one of two values or null',
    { oneOf: [{ enum: [5n, 6n] }, { const: null }] },
    { type: 'integer', enum: [5n, 6n, null], nullable: true },
  ],
  ['an exclusive bound', { exclusiveMinimum: 5 }, { minimum: 5, exclusiveMinimum: true }],
  [
    'an exclusive bound that another exceeds',
    { maximum: 4, exclusiveMaximum: 5 },
    { maximum: 4, exclusiveMaximum: false },
  ],
  [
    'an exclusive bound that exceeds another',
    { minimum: 5, exclusiveMinimum: 5 },
    { minimum: 5, exclusiveMinimum: true },
  ],
  ['examples', { examples: ['a', 'b'] }, { example: 'a' }],
  ['keywords beside a reference', { $ref: '#/a', maxLength: 3 }, { maxLength: 3, allOf: [{ $ref: '#/a' }] }],
  ['a list of anything', { type: 'array', prefixItems: [{ type: 'string' }] }, { type: 'array', items: {} }],
  ['a schema that is true', { properties: { a: true, b: false } }, { properties: { a: {}, b: { not: {} } } }],
  ['a value that looks like a schema that is true', { default: { not: true } }, { default: { not: true } }],
  ['no other fields', { additionalProperties: false }, { additionalProperties: false }],
  [
    'no others than of a pattern',
    { additionalProperties: false, patternProperties: { a: {} } },
    { additionalProperties: true },
  ],
  [
    'a property that only a condition declares',
    { properties: { a: {} }, if: { properties: { a: { const: 1 } } }, else: { properties: { b: {} } } },
    { additionalProperties: true, properties: { a: {} } },
  ],
  [
    'a condition on its properties',
    {
      properties: { a: {} },
      dependentSchemas: { a: { properties: { a: {} } } },
      unevaluatedProperties: false,
    },
    { properties: { a: {} } },
  ],
  [
    'others that are evaluated last',
    { properties: {}, unevaluatedProperties: { type: 'string' } },
    { additionalProperties: true, properties: {} },
  ],
  ['bytes', { type: 'string', contentMediaType: 'image/png' }, { format: 'binary', type: 'string' }],
  [
    'the text of JSON',
    { type: 'string', contentMediaType: 'application/json', contentSchema: {} },
    { type: 'string' },
  ],
  ['bytes in base64', { type: 'string', contentEncoding: 'base64' }, { format: 'byte', type: 'string' }],
  ['a condition', { if: { const: 1 }, else: false }, {}],
  [
    'a field named like a keyword',
    { properties: { const: { type: 'string' }, if: true } },
    { properties: { const: { type: 'string' }, if: {} } },
  ],
  [
    'data that looks like a schema',
    { default: { const: 1 }, 'x-a': { const: 1 } },
    { default: { const: 1 }, 'x-a': { const: 1 } },
  ],
]

for (const [title, schema, old] of schemas) {
  t.test(`a schema with ${title}`, async (t) => {
    const found = toOpenApi30({ openapi: '3.1.0', components: { schemas: { a: schema } } })
    t.strictSame((found as { components: unknown }).components, { schemas: { a: old } })
  })
}

// Parts of a document other than schemas.
const documents: [title: string, document: object, old: object][] = [
  [
    'info',
    { info: { title: 'A', summary: 'B', license: { name: 'MIT', identifier: 'MIT' } } },
    { info: { title: 'A', license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' } }, paths: {} },
  ],
  [
    'webhooks and a dialect',
    { jsonSchemaDialect: 'https://a', webhooks: {}, info: {} },
    { info: {}, paths: {} },
  ],
  [
    'a shared path item',
    {
      info: {},
      paths: { '/a': { $ref: '#/components/pathItems/A' } },
      components: { pathItems: { A: { get: {} } } },
    },
    { info: {}, paths: { '/a': { get: { responses: { default: { description: 'Not described.' } } } } } },
  ],
  [
    'schemas of schemas',
    {
      info: {},
      components: { schemas: { A: { $ref: '#/components/schemas/B/$defs/C' }, B: { $defs: { C: true } } } },
    },
    {
      info: {},
      paths: {},
      components: { schemas: { A: { $ref: '#/components/schemas/B.C' }, B: {}, 'B.C': {} } },
    },
  ],
  [
    'certificates of clients',
    {
      info: {},
      security: [{ a: [], b: [] }],
      components: { securitySchemes: { a: { type: 'mutualTLS' }, b: { type: 'http', scheme: 'bearer' } } },
    },
    {
      info: {},
      paths: {},
      security: [{ b: [] }],
      components: { securitySchemes: { b: { type: 'http', scheme: 'bearer' } } },
    },
  ],
  [
    'the roles of schemes without scopes',
    {
      info: {},
      security: [{ b: ['admin'], c: ['read'] }],
      components: {
        securitySchemes: { b: { type: 'http', scheme: 'bearer' }, c: { type: 'oauth2', flows: {} } },
      },
    },
    {
      info: {},
      paths: {},
      security: [{ b: [], c: ['read'] }],
      components: {
        securitySchemes: { b: { type: 'http', scheme: 'bearer' }, c: { type: 'oauth2', flows: {} } },
      },
    },
  ],
  [
    'values of a variable, which have no type',
    { info: {}, servers: [{ url: '{a}', variables: { a: { default: 'b', enum: ['b'] } } }] },
    { info: {}, paths: {}, servers: [{ url: '{a}', variables: { a: { default: 'b', enum: ['b'] } } }] },
  ],
  [
    'items of a stream',
    {
      info: {},
      paths: {
        '/a': {
          get: { responses: { 200: { content: { 'application/jsonl': { itemSchema: { const: 1 } } } } } },
        },
      },
    },
    {
      info: {},
      paths: {
        '/a': {
          get: {
            responses: {
              200: { content: { 'application/jsonl': { schema: { type: 'integer', enum: [1] } } } },
            },
          },
        },
      },
    },
  ],
  [
    'examples that look like schemas',
    { info: {}, components: { examples: { a: { value: { const: 1, examples: [1] } } } } },
    { info: {}, paths: {}, components: { examples: { a: { value: { const: 1, examples: [1] } } } } },
  ],
  [
    'a description beside the reference of a link',
    { info: {}, components: { links: { a: { $ref: '#/b', description: 'B' } } } },
    { info: {}, paths: {}, components: { links: { a: { $ref: '#/b' } } } },
  ],
  [
    'a description beside a reference',
    { info: {}, paths: { '/a': { parameters: [{ $ref: '#/b', description: 'B' }] } } },
    { info: {}, paths: { '/a': { parameters: [{ $ref: '#/b' }] } } },
  ],
]

for (const [title, document, old] of documents) {
  t.test(`a document with ${title}`, async (t) => {
    t.strictSame(toOpenApi30({ openapi: '3.1.0', ...document }), { openapi: '3.0.3', components: {}, ...old })
  })
}

t.test('a document in 3.0 is returned unchanged', async (t) => {
  const document = { openapi: '3.0.1' }
  t.equal(toOpenApi30(document), document)
})
