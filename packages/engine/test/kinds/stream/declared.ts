// Streams of items: where their schema is, and how it is read. Refusals are in cases.yaml.

import { contractOf } from 'contract-testing/engine'
import t from 'tap'
import type { Content } from '../../../src/document/contract.js'

const animal = { type: 'object', required: ['id'], properties: { id: { type: 'integer', format: 'int64' } } }
const ref = { $ref: '#/components/schemas/Animal' }
const json = (contentSchema: unknown) => ({
  type: 'string',
  contentMediaType: 'application/json',
  ...(contentSchema !== undefined && { contentSchema }),
})
const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const event = (properties: object, required = ['data']) => ({ type: 'object', required, properties })
const open = { event: text, id: text, retry: count, data: text }

async function contentOf(
  media: object,
  mediaType: string,
  openapi: string,
  schemas: object = {},
): Promise<Content> {
  const responses = { 200: { description: 'All.', content: { [mediaType]: media } } }
  const { operations } = await contractOf({
    openapi,
    paths: { '/a': { get: { operationId: 'watch', responses } } },
    components: { schemas: { Animal: animal, ...schemas } },
  })
  const operation = operations.get('watch')
  t.strictSame(operation?.unsupported, [])
  return operation?.responses.get('200')?.contents[0] as Content
}

t.test(
  'the schema of an item is itemSchema, or before OpenAPI 3.2 schema, and then the items of the whole',
  async (t) => {
    const rows: readonly [mediaType: string, openapi: string, media: object, framing: string][] = [
      ['application/x-ndjson', '3.2.0', { itemSchema: ref }, 'lines'],
      ['application/jsonl', '3.1.0', { itemSchema: ref }, 'lines'],
      ['application/jsonl', '3.0.3', { itemSchema: ref }, 'lines'],
      ['application/jsonl; charset=utf-8', '3.0.3', { schema: ref }, 'lines'],
      ['application/json-seq', '3.1.1', { schema: ref }, 'sequence'],
      ['application/geo+json-seq', '3.2.0', { itemSchema: ref }, 'sequence'],
      ['application/json-lines', '3.2.0', { schema: { type: 'array', items: ref, title: 'All' } }, 'lines'],
    ]
    for (const [mediaType, openapi, media, framing] of rows) {
      const content = await contentOf(media, mediaType, openapi)
      t.has(content, { mediaType, kind: 'stream', framing, schema: ref }, `${openapi} ${mediaType}`)
    }
    const both = { schema: { type: 'array', items: ref }, itemSchema: { minProperties: 1, type: 'object' } }
    const { schema } = await contentOf(both, 'application/jsonl', '3.2.0')
    t.strictSame(schema, { allOf: [both.itemSchema, ref] })
  },
)

t.test('before OpenAPI 3.2, itemSchema is read with a warning at its place', async (t) => {
  const responses = { 200: { description: 'All.', content: { 'application/jsonl': { itemSchema: animal } } } }
  const paths = { '/a': { get: { operationId: 'watch', responses } } }
  for (const openapi of ['3.0.3', '3.1.0', '3.2.0']) {
    const { warnings } = await contractOf({ openapi, paths })
    const told = warnings.filter(({ text }) => text.includes('itemSchema'))
    const text =
      'GET /a: the response 200 application/jsonl has itemSchema, of OpenAPI 3.2: other tools need openapi: 3.2.0'
    t.strictSame(told, openapi === '3.2.0' ? [] : [{ text, at: ['paths', '/a', 'get'] }], openapi)
  }
})

t.test('what has no schema, or one of bytes, is bytes; an event stream is one of texts', async (t) => {
  for (const media of [
    {},
    { schema: {} },
    { schema: { type: 'string' } },
    { schema: { type: 'string', format: 'binary' } },
  ])
    t.equal((await contentOf(media, 'application/x-ndjson', '3.1.0')).kind, 'bytes')
  const file = { schema: { type: 'string', format: 'binary' } }
  t.equal((await contentOf(file, 'text/event-stream', '3.1.0')).kind, 'bytes')
  for (const media of [{}, { schema: {} }, { itemSchema: {} }, { itemSchema: true }])
    t.strictSame((await contentOf(media, 'text/event-stream', '3.1.0')).schema, event(open, []))
})

t.test('the schema of an event has the value of the JSON in its data', async (t) => {
  const rows: readonly [title: string, openapi: string, media: object, schema: unknown][] = [
    ['a text', '3.1.0', { schema: text }, event(open)],
    ['JSON', '3.1.0', { schema: ref }, event({ ...open, data: ref })],
    [
      'JSON of several',
      '3.0.3',
      { schema: { oneOf: [ref, { type: 'string' }] } },
      event({ ...open, data: { oneOf: [ref, text] } }),
    ],
    [
      'an event',
      '3.1.0',
      { schema: event({ event: { const: 'a' }, data: ref }) },
      event({ ...open, event: { const: 'a' }, data: ref }),
    ],
    [
      'an event of OpenAPI 3.2',
      '3.2.0',
      { itemSchema: event({ data: json(ref) }) },
      event({ ...open, data: ref }),
    ],
    [
      'the items of the whole',
      '3.2.0',
      { schema: { type: 'array', items: event({ data: json(ref) }) } },
      event({ ...open, data: ref }),
    ],
    ['any JSON', '3.2.0', { itemSchema: event({ data: json(undefined) }) }, event({ ...open, data: true })],
    [
      'data of another type',
      '3.2.0',
      { itemSchema: event({ id: text, data: ref }, []) },
      event({ ...open, data: ref }, []),
    ],
    [
      'closed',
      '3.2.0',
      { itemSchema: { ...event({ data: text }), additionalProperties: false } },
      event({ data: text }),
    ],
  ]
  for (const [title, openapi, media, schema] of rows)
    t.strictSame((await contentOf(media, 'text/event-stream', openapi)).schema, schema, title)
})

// The example of OpenAPI 3.2, section 4.15.6.
t.test('alternatives extend what stands beside them', async (t) => {
  const Event = {
    type: 'object',
    required: ['data'],
    properties: { data: text, event: text, id: text, retry: count },
  }
  const itemSchema = {
    $ref: '#/components/schemas/Event',
    required: ['event'],
    oneOf: [
      { properties: { event: { const: 'addString' } } },
      { properties: { event: { const: 'addInt64' }, data: { format: 'int64' } } },
      {
        properties: {
          event: { const: 'addJson' },
          data: { contentMediaType: 'application/json', contentSchema: ref },
        },
      },
    ],
  }
  const { schema, data } = await contentOf({ itemSchema }, 'text/event-stream', '3.2.0', { Event })
  const named = (name: string) => ({ const: name })
  const required = ['event', 'data']
  t.strictSame(schema, {
    oneOf: [
      event({ ...open, event: named('addString') }, required),
      event({ ...open, event: named('addInt64'), data: { allOf: [text, { format: 'int64' }] } }, required),
      event({ ...open, event: named('addJson'), data: ref }, required),
    ],
  })
  t.strictSame(data, [
    { isJson: false, allowsText: true, events: ['addString'], texts: undefined },
    { isJson: false, allowsText: true, events: ['addInt64'], texts: undefined },
    { isJson: true, allowsText: false, events: ['addJson'], texts: undefined },
  ])
})

t.test('a discriminator tells events by their name', async (t) => {
  const Added = event({ event: text, data: json(ref) })
  const Removed = event({ event: text, data: text })
  const oneOf = [{ $ref: '#/components/schemas/Added' }, { $ref: '#/components/schemas/Removed' }]
  const itemSchema = { oneOf, discriminator: { propertyName: 'event' } }
  const { data } = await contentOf({ itemSchema }, 'text/event-stream', '3.2.0', { Added, Removed })
  t.match(data, [
    { isJson: true, events: ['Added'] },
    { isJson: false, events: ['Removed'] },
  ])
})

t.test('a text that is a constant is told from JSON that is no text', async (t) => {
  const done = event({ data: { const: '[DONE]' } })
  const { schema, data } = await contentOf(
    { itemSchema: { anyOf: [event({ data: json(ref) }), done] } },
    'text/event-stream',
    '3.1.0',
  )
  t.strictSame(schema, {
    anyOf: [event({ ...open, data: ref }), event({ ...open, data: { const: '[DONE]' } })],
  })
  t.match(data, [{ isJson: true }, { isJson: false, texts: ['[DONE]'] }])
})

t.test('a keyword that no array, no event and no bytes are invalid by does not matter', async (t) => {
  const idle = { $defs: {}, minLength: 1, pattern: 'a', title: 'A' }
  const whole = { schema: { type: 'array', items: ref, ...idle, required: ['a'], maximum: 1 } }
  t.strictSame((await contentOf(whole, 'application/jsonl', '3.2.0')).schema, ref)
  const itemSchema = { ...event({ data: text }), ...idle, items: ref, maxItems: 1 }
  t.strictSame(
    (await contentOf({ itemSchema }, 'text/event-stream', '3.2.0')).schema,
    event({ ...open, data: text }),
  )
})
