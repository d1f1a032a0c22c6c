// The items of a mock's streams: from examples in each of their forms, and from schemas.

import t from 'tap'
import { anError, mocked } from '../fixtures/mocked.js'

const n = { type: 'object', required: ['n'], properties: { n: { type: 'integer', format: 'int64' } } }
const big = 2n ** 53n + 1n
const [sse, lines, sequence] = ['text/event-stream', 'application/x-ndjson', 'application/json-seq']

type Case = readonly [title: string, type: string, media: object, text: string, version?: string]
const cases: readonly Case[] = [
  ['one item', lines, { schema: n, example: { n: 42 } }, '{"n":42}\n'],
  [
    'one of several',
    lines,
    { schema: n, examples: { a: { value: { n: 42 } }, b: { value: { n: 43 } } } },
    '{"n":42}\n',
  ],
  ['an array of items', lines, { schema: n, example: [{ n: 1 }, { n: big }] }, `{"n":1}\n{"n":${big}}\n`],
  ['lines as text', lines, { schema: n, example: `{"n":1}\n{"n":${big}}\n` }, `{"n":1}\n{"n":${big}}\n`],
  ['records', sequence, { schema: n, example: [{ n: 1 }] }, '\x1e{"n":1}\n'],
  [
    'records as text',
    sequence,
    { schema: n, example: '\x1e{"n":1}\n\x1e{"n":2}\n' },
    '\x1e{"n":1}\n\x1e{"n":2}\n',
  ],
  ['a text item', lines, { itemSchema: { type: 'string' }, example: 'one' }, '"one"\n', '3.2.0'],
  ['none that the schema forbids', lines, { schema: n, example: { n: 'x' } }, '{"n":1}\n'.repeat(3)],
  ['the data of an event', sse, { schema: n, example: { n: big } }, `data: {"n":${big}}\n\n`],
  [
    'the data of two',
    sse,
    { schema: n, example: [{ n: 1 }, { n: 2 }] },
    'data: {"n":1}\n\ndata: {"n":2}\n\n',
  ],
  [
    'events as text',
    sse,
    { schema: { type: 'string' }, example: 'data: one\n\ndata: two\n\n' },
    'data: one\n\ndata: two\n\n',
  ],
  [
    'events with all fields, as text',
    sse,
    {
      schema: n,
      example: `: hello\n\nevent: a\r\nid: 7\r\nretry: 10\r\ndata: {"n":\r\ndata: ${big}}\r\n\r\n`,
    },
    `event: a\nid: 7\nretry: 10\ndata: {"n":${big}}\n\n`,
  ],
  ['a text that is the data', sse, { schema: { type: 'string' }, example: 'one' }, 'data: one\n\n'],
  [
    'events as values',
    sse,
    {
      itemSchema: { properties: { event: { type: 'string' }, data: { type: 'string' } } },
      example: [{ event: 'a', data: 'x' }],
    },
    'event: a\ndata: x\n\n',
    '3.2.0',
  ],
  ['an example of the schema', lines, { schema: { ...n, example: { n: 5 } } }, '{"n":5}\n'.repeat(3)],
  ['unnamed events of text', sse, { schema: { type: 'string' } }, 'data: text\n\n'.repeat(3)],
  ['unnamed events of JSON', sse, { schema: { type: 'boolean' } }, 'data: true\n\n'.repeat(3)],
  [
    'unnamed events where any name is allowed',
    sse,
    {
      itemSchema: { required: ['data'], properties: { event: { type: 'string' }, data: { type: 'string' } } },
    },
    'data: text\n\n'.repeat(3),
    '3.2.0',
  ],
  [
    'the name that the contract gives',
    sse,
    { itemSchema: { properties: { event: { type: 'string', example: 'born' }, data: { const: 'x' } } } },
    'event: born\ndata: x\n\n'.repeat(3),
    '3.2.0',
  ],
  [
    'a name that must be there',
    sse,
    { itemSchema: { required: ['event'], properties: { event: { type: 'string' }, data: { const: 'x' } } } },
    'event: text\ndata: x\n\n'.repeat(3),
    '3.2.0',
  ],
]

for (const [title, type, media, text, openapi = '3.1.0'] of cases) {
  t.test(`a stream is ${title}`, async (t) => {
    const responses = { 200: { description: 'All.', content: { [type]: media } }, default: anError }
    const app = await mocked(t, { openapi, paths: { '/it': { get: { operationId: 'it', responses } } } })
    t.equal((await app.inject('/it')).payload, text)
  })
}
