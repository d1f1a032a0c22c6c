// The types of streamed items in operations.ts. The compiler checks them in
// test/scripts/generate/operations.ts.

import { generateOperations, generateTypes } from 'contract-engine/generate'
import { contractOf } from 'contract-testing/engine'
import t from 'tap'

const ref = { $ref: '#/components/schemas/Node' }
const node = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    secret: { type: 'string', writeOnly: true },
    inner: { type: 'array', items: ref },
  },
}

async function typesOf(content: object, openapi = '3.2.0', schemas: object = {}) {
  const responses = { 200: { description: 'All.', content } }
  const contract = await contractOf({
    openapi,
    paths: { '/a': { get: { operationId: 'watch', responses } } },
    components: { schemas: { Node: node, ...schemas } },
  })
  const types = generateTypes(contract)
  const operations = generateOperations(contract, types)
  const [, response = ''] = /response:\n([\s\S]*?)\n {2}\}/.exec(operations) ?? []
  return { types: types.replace(/\s+/g, ' '), operations, response: response.trim() }
}

t.test('a stream of a named schema has its name, without what is writeOnly', async (t) => {
  const { response, operations } = await typesOf({ 'application/jsonl': { itemSchema: ref } })
  t.equal(
    response,
    '| { status: 200; headers?: undefined; body: Items<Readable<Node>> }\n    item: Readable<Node>',
  )
  t.match(operations, 'export type ItemOf<Id extends OperationId> = ItemIn<Operations[Id]>')
})

t.test('the items of a request arrive, as they may be sent', async (t) => {
  const content = { 'application/jsonl': { itemSchema: ref }, 'application/json': { schema: ref } }
  const contract = await contractOf({
    openapi: '3.2.0',
    paths: {
      '/a': {
        post: { operationId: 'add', requestBody: { content }, responses: { 204: { description: 'Done.' } } },
      },
    },
    components: { schemas: { Node: node } },
  })
  const operations = generateOperations(contract)
  t.match(operations, 'body: ArrivingItems<Writable<Node>> | Writable<Node> | undefined')
  t.match(operations, 'counted(options?: { readonly errorsMax?: number }): CountedItems<Item>')
  t.notMatch(operations, 'ItemOf<', 'without the types of streams in responses')
})

t.test('beside JSON, a stream is named by its Content-Type', async (t) => {
  const content = { 'application/json': { schema: ref }, 'text/event-stream': { itemSchema: {} } }
  const { response } = await typesOf(content)
  t.match(
    response,
    "| { status: 200; headers?: { 'Content-Type'?: 'application/json' }; body: Readable<Node> }",
  )
  t.match(response, "| { status: 200; headers: { 'Content-Type': 'text/event-stream' }; body: Items<")
})

t.test('an event has the value of its JSON, in each version', async (t) => {
  const data = { type: 'string', contentMediaType: 'application/json', contentSchema: ref }
  const event = { type: 'object', required: ['data'], properties: { data } }
  const array = { type: 'array', items: event }
  const rows: readonly [openapi: string, media: object][] = [
    ['3.2.0', { itemSchema: event }],
    ['3.2.0', { schema: array }],
    ['3.1.0', { itemSchema: event }],
    ['3.1.0', { schema: ref }],
    ['3.0.3', { schema: ref }],
  ]
  const expected = '"text/event-stream": { event?: string; id?: string; retry?: number; data: Node; };'
  for (const [openapi, media] of rows) {
    const { types } = await typesOf({ 'text/event-stream': media }, openapi)
    t.match(types, expected, openapi)
  }
})

t.test('beside its events, a stream of events may have positions, and no other stream', async (t) => {
  const events = await typesOf({ 'text/event-stream': { itemSchema: {} } })
  t.match(events.response, /body: Items<[^\n]* \| EventPosition> }/)
  t.notMatch(events.response, /item: [^\n]*EventPosition/, 'it is no item')
  t.match(events.operations, 'export interface EventPosition {')
  const lines = await typesOf({ 'application/jsonl': { itemSchema: ref } })
  t.notMatch(lines.operations, 'EventPosition')
})

t.test('alternative events are a union', async (t) => {
  const named = (name: string) => ({
    type: 'object',
    required: ['event', 'data'],
    properties: { event: { const: name }, data: ref },
  })
  const oneOf = [{ $ref: '#/components/schemas/Added' }, { $ref: '#/components/schemas/Removed' }]
  const schemas = { Added: named('added'), Removed: named('removed') }
  const { types } = await typesOf({ 'text/event-stream': { itemSchema: { oneOf } } }, '3.2.0', schemas)
  const constant = (name: string) => `/** @constant */ event: "${name}"; id?: string; retry?: number; data: `
  t.match(types, constant('added'))
  t.match(types, constant('removed'))
})

const data = { type: 'string', contentMediaType: 'application/json', contentSchema: ref }
const added = { type: 'object', required: ['data'], properties: { data } }
const event = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const asItem = 'export type Added = { event?: string; id?: string; retry?: number; data: Node; };'
const asText = 'data: string; };'

t.test('a component for events alone is exported as their items are', async (t) => {
  const rows: readonly [openapi: string, media: object, schemas?: object][] = [
    ['3.2.0', { itemSchema: event('Added') }],
    ['3.2.0', { schema: { type: 'array', items: event('Added') } }],
    ['3.1.0', { itemSchema: event('Added') }],
    ['3.1.0', { schema: event('Added') }],
    ['3.2.0', { itemSchema: { oneOf: [event('Added'), { ...added, required: ['data', 'id'] }] } }],
    ['3.2.0', { itemSchema: event('Any') }, { Any: { anyOf: [event('Added'), event('Added')] } }],
    ['3.2.0', { itemSchema: event('Same') }, { Same: event('Added') }],
  ]
  for (const [openapi, media, schemas] of rows) {
    const { types } = await typesOf({ 'text/event-stream': media }, openapi, { Added: added, ...schemas })
    t.match(types, asItem, JSON.stringify([openapi, media]))
  }
})

t.test('it keeps its text if it also describes JSON, or is in no stream', async (t) => {
  const stream = { 'text/event-stream': { itemSchema: event('Added') } }
  const rows: readonly [content: object, schemas?: object][] = [
    [{}],
    [{ ...stream, 'application/json': { schema: event('Added') } }],
    [{ ...stream, 'application/jsonl': { itemSchema: event('Added') } }],
    [stream, { Other: { type: 'object', properties: { inner: event('Added') } } }],
    [stream, { Other: { allOf: [event('Added')] } }],
    [{ 'text/event-stream': { itemSchema: { allOf: [event('Added')] } } }],
    [
      { 'text/event-stream': { itemSchema: event('Any') }, 'application/json': { schema: event('Any') } },
      { Any: { oneOf: [event('Added'), { type: 'object', required: ['id'] }] } },
    ],
  ]
  for (const [content, schemas] of rows) {
    const { types } = await typesOf(content, '3.2.0', { Added: added, ...schemas })
    const [, type = ''] = /export type Added = (.*?\};)/.exec(types) ?? []
    t.match(type, asText, JSON.stringify([content, schemas]))
  }
})

t.test('before OpenAPI 3.2, the schema of the JSON of events is none of events', async (t) => {
  const { types } = await typesOf({ 'text/event-stream': { schema: event('Toy') } }, '3.1.0', { Toy: node })
  t.match(types, 'export type Toy = { /** Format: int64 */ id: bigint;')
})

t.test('also if the stream is a media type of the components', async (t) => {
  const content = { 'text/event-stream': { $ref: '#/components/mediaTypes/M' } }
  const contract = await contractOf({
    openapi: '3.2.0',
    paths: { '/a': { get: { operationId: 'watch', responses: { 200: { description: 'All.', content } } } } },
    components: { mediaTypes: { M: { itemSchema: event('Added') } }, schemas: { Node: node, Added: added } },
  })
  t.match(generateTypes(contract).replace(/\s+/g, ' '), asItem)
})
