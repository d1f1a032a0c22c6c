// The outline of a contract: its operations and schemas, in short.

import { contractOf, contractWith, done } from 'contract-testing/engine'
import t from 'tap'
import { operationsOf, schemasOf } from '../../../src/compile/documents/outline.js'
import type { Contract } from '../../../src/document/contract.js'

const toy = {
  type: 'object',
  description: 'A toy.',
  required: ['name'],
  properties: { name: { $ref: '#/components/schemas/Name' }, parts: { $ref: '#/components/schemas/Parts' } },
}
const schemas = {
  Toy: toy,
  Name: { type: 'string', minLength: 1, maxLength: 9, description: 'What it is called.' },
  Parts: { type: 'array', maxItems: 3, items: { $ref: '#/components/schemas/Toy' } },
  Bag: { allOf: [{ $ref: '#/components/schemas/Toy' }], type: 'object' },
  Color: { enum: [...'abcdefghi'] },
  Tree: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
}

t.test('an operation has its parameters, bodies and responses, with references followed', async (t) => {
  const json = (name: string) => ({
    'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
  })
  const contract = await contractOf({
    servers: [{ url: '/v1' }],
    paths: {
      '/toys/{name}': {
        parameters: [
          { in: 'path', name: 'name', required: true, schema: { $ref: '#/components/schemas/Name' } },
        ],
        put: {
          operationId: 'putToy',
          summary: 'Put a toy',
          description: 'Puts a toy.\n',
          parameters: [{ $ref: '#/components/parameters/Size' }],
          requestBody: { $ref: '#/components/requestBodies/Toy' },
          responses: { 200: { $ref: '#/components/responses/Put' } },
        },
      },
    },
    components: {
      schemas,
      parameters: {
        Size: {
          in: 'query',
          name: 'size',
          description: 'Its size.',
          schema: { type: 'integer', format: 'int32', minimum: 1, default: 2 },
        },
      },
      requestBodies: { Toy: { required: true, description: 'The toy.', content: json('Toy') } },
      responses: {
        Put: {
          description: 'It is there.',
          headers: { 'X-Size': { required: true, description: 'Its size.', schema: { type: 'integer' } } },
          content: json('Parts'),
        },
      },
    },
  })
  const name = { name: 'name', required: true, description: 'What it is called.' }
  t.strictSame(operationsOf(contract), [
    {
      id: 'putToy',
      method: 'PUT',
      prefix: '/v1',
      summary: 'Put a toy',
      security: [],
      path: '/toys/{name}',
      description: 'Puts a toy.',
      parameters: [
        { ...name, in: 'path', type: 'string from 1 to 9 characters' },
        {
          ...{ name: 'size', required: false, in: 'query', description: 'Its size.' },
          type: 'int32 at least 1, by default 2',
        },
      ],
      body: {
        required: true,
        description: 'The toy.',
        contents: [{ mediaType: 'application/json', type: 'Toy' }],
      },
      responses: [
        {
          status: '200',
          description: 'It is there.',
          headers: [{ name: 'X-Size', required: true, type: 'integer', description: 'Its size.' }],
          contents: [{ mediaType: 'application/json', type: 'array of Toy, at most 3 items' }],
        },
      ],
      callbacks: [],
    },
  ])
})

t.test('the description of a deprecated operation begins with its dates', async (t) => {
  const dates = { deprecated: true, 'x-deprecated-at': '2026-01-02', 'x-sunset': '2999-01-02' }
  const old = { method: 'get', responses: done, description: 'Old.', ...dates }
  const [operation] = operationsOf(await contractWith({ old }))
  t.match(operation?.description, /^\*\*Deprecated since 2026-01-02\. .*2999-01-02\.\*\*\s+Old\.$/)
})

t.test('a named schema has its members; one that contains itself ends', async (t) => {
  const contract = await contractWith({ old: { method: 'get', responses: done } }, { schemas })
  const byName = new Map(schemasOf(contract).map((each) => [each.name, each]))
  t.match(byName.get('Toy'), {
    description: 'A toy.',
    members: [
      { name: 'name', required: true, type: 'string from 1 to 9 characters' },
      { name: 'parts', required: false, type: 'array of Toy, at most 3 items' },
    ],
  })
  t.equal(byName.get('Bag')?.type, 'Toy')
  t.equal(byName.get('Tree')?.type, 'array of array of array of array of Tree')
})

const words: readonly [schema: unknown, expected: string][] = [
  [true, 'any'],
  [false, 'nothing'],
  [{ const: 3 }, '3'],
  [{ $ref: '#/components/schemas/Color' }, 'Color'],
  [{ enum: ['a', 2, null] }, '"a" or 2 or null'],
  [{ type: ['string', 'null'], format: 'uuid' }, 'string (uuid) or null'],
  [
    { type: 'string', maxLength: 3, 'x-pattern-description': 'digits' },
    'string at most 3 characters, digits',
  ],
  [{ type: 'string', minLength: 1 }, 'string at least 1 character'],
  [{ type: 'array', items: {}, maxItems: 1 }, 'array of any, at most 1 item'],
  [{ type: 'boolean', readOnly: true, deprecated: true }, 'boolean, read-only, deprecated'],
  [{ type: 'string', writeOnly: true }, 'string, write-only'],
  [{ type: 'number', minimum: 0.5 }, 'number at least 0.5'],
  [{ type: 'integer', maximum: 9007199254740993n }, 'integer at most 9007199254740993'],
  [{ oneOf: [{ type: 'boolean' }, { type: 'array', items: {} }] }, 'boolean or array of any'],
  [{ type: 'object', additionalProperties: { type: 'boolean' } }, '{ any other: boolean }'],
  [
    { type: 'object', required: ['a'], properties: { a: {}, b: { type: 'boolean' } } },
    '{ a: any, b?: boolean }',
  ],
]

for (const [schema, expected] of words)
  t.test(`a schema in short: ${expected}`, async (t) => {
    const contract = await contractWith(
      { old: { method: 'get', responses: done } },
      { schemas: { ...schemas, Holder: { type: 'object', properties: { value: schema } } } },
    )
    const holder = schemasOf(contract).find(({ name }) => name === 'Holder')
    t.equal(holder?.members[0]?.type, expected)
  })

t.test('a parameter may be deprecated, or JSON', async (t) => {
  const old = { in: 'query', name: 'old', deprecated: true, schema: { type: 'boolean' } }
  const json = { in: 'query', name: 'json', content: { 'application/json': { schema: { type: 'object' } } } }
  const contract = await contractWith({
    list: { method: 'get', responses: done, parameters: [old, json] },
  })
  const [operation] = operationsOf(contract)
  t.strictSame(
    operation?.parameters.map(({ type }) => type),
    ['boolean, deprecated', 'object as JSON'],
  )
})

t.test('a stream is shown by its items, and events by the values of their data', async (t) => {
  const item = { $ref: '#/components/schemas/Toy' }
  const json = { type: 'string', contentMediaType: 'application/json', contentSchema: item }
  const itemSchema = {
    type: 'object',
    additionalProperties: false,
    required: ['event', 'data'],
    properties: { event: { const: 'added' }, data: json },
  }
  const content = {
    'text/event-stream': { itemSchema },
    'application/jsonl': { itemSchema: item },
    'application/json-seq': { itemSchema: item },
    'application/json': { schema: { type: 'array', items: item } },
  }
  const contract = await contractWith(
    {
      watch: { method: 'get', responses: { 200: { description: 'Toys.', content } } },
      add: { requestBody: { content: { 'application/jsonl': { itemSchema: item } } }, responses: done },
    },
    { schemas },
  )
  const [operation, adding] = operationsOf(contract)
  t.strictSame(
    operation?.responses[0]?.contents.map(({ type }) => type),
    [
      'a stream of server-sent events: { event: "added", data: Toy }',
      'a stream of JSON, a line for each item: Toy',
      'a stream of JSON, a record (RFC 7464) for each item: Toy',
      'array of Toy',
    ],
  )
  t.match(adding?.body?.contents, [{ type: 'a stream of JSON, a line for each item: Toy' }])
})

t.test('a schema that is true or false is in words', async (t) => {
  const of = async (schema: unknown) => {
    const all = { Never: false, Any: true, Schema: schema }
    const { specification } = await contractOf({ paths: {}, components: { schemas: all } })
    return schemasOf({ specification } as Contract).find(({ name }) => name === 'Schema')?.type
  }
  const [never, any] = [{ $ref: '#/components/schemas/Never' }, { $ref: '#/components/schemas/Any' }]
  t.equal(await of(false), 'nothing')
  t.equal(await of(true), 'any')
  t.equal(await of(never), 'nothing')
  t.equal(await of({ type: 'array', items: never }), 'array of nothing')
  t.equal(await of({ type: 'array', items: any }), 'array of any')
  t.equal(await of({ anyOf: [false, { type: 'string' }, never] }), 'string')
  t.equal(await of({ oneOf: [false, never] }), 'nothing')
  t.equal(await of({ allOf: [true, { type: 'string' }] }), 'string')
  t.equal(await of({ allOf: [false, { type: 'string' }] }), 'nothing and string')
})
