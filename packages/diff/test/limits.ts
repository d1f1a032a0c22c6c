// contract-diff on the signs of life of streams: a client gives up a stream after four missing ones.

import t from 'tap'
import { diffContracts } from '../src/contract.js'
import { lineOf } from '../src/report.js'

function documentOf(mediaType: string, keepAliveMs: number | undefined) {
  const responses = { 200: { $ref: '#/components/responses/Feed' } }
  const limits = keepAliveMs === undefined ? {} : { 'x-limits': { keepAliveMs } }
  return {
    openapi: '3.1.0',
    info: { title: 'Feed', version: '1.0.0' },
    paths: { '/feed': { get: { operationId: 'watch', ...limits, responses } } },
    components: {
      responses: { Feed: { description: 'All.', content: { [mediaType]: { schema: { type: 'object' } } } } },
    },
  }
}

const rows: readonly [mediaType: string, was: number | undefined, is: number | undefined, bump: string][] = [
  ['text/event-stream', 5_000, 20_000, 'minor'],
  ['text/event-stream', 5_000, 20_001, 'breaking'],
  ['text/event-stream', 5_000, undefined, 'minor'],
  ['text/event-stream', undefined, 61_000, 'breaking'],
  ['application/json-seq', 3_000, undefined, 'breaking'],
  ['application/x-ndjson', 5_000, 21_000, 'breaking'],
  ['application/x-ndjson', 5_000, undefined, 'breaking'],
  ['application/x-ndjson', undefined, 86_400_000, 'minor'],
  ['application/jsonl', 5_000, undefined, 'minor'],
]

const items: readonly [was: object, is: object, lines: readonly string[]][] = [
  [{ itemBytes: 100 }, { itemBytes: 99 }, ['breaking']],
  [{ itemBytes: 100 }, { itemBytes: 101 }, ['minor']],
  [{}, { itemBytes: 1_048_576 }, ['minor']],
  [{}, { itemBytes: 1_048_575 }, ['breaking']],
  [{ itemBytes: 1_048_577, bodyBytes: 2e6 }, { bodyBytes: 2e6 }, ['breaking']],
]

for (const [was, is, bumps] of items)
  t.test(`limits of an item from ${JSON.stringify(was)} to ${JSON.stringify(is)}`, async (t) => {
    const content = { 'application/x-ndjson': { itemSchema: { type: 'object' } } }
    const of = (limits: object) => ({
      openapi: '3.2.0',
      info: { title: 'Feed', version: '1.0.0' },
      paths: {
        '/a': { post: { operationId: 'add', 'x-limits': limits, requestBody: { content }, responses: {} } },
      },
    })
    const changes = diffContracts(of(was), of(is))
    t.strictSame(
      changes.map((each) => lineOf(each).split(/\s+/)[0]),
      bumps,
    )
  })

t.test('the schema of an item in a request is the same, wherever the document has it', async (t) => {
  const of = (media: object) => ({
    openapi: '3.1.0',
    info: { title: 'Feed', version: '1.0.0' },
    paths: {
      '/a': {
        post: { operationId: 'add', requestBody: { content: { 'application/jsonl': media } }, responses: {} },
      },
    },
  })
  const item = { type: 'object', required: ['a'] }
  t.strictSame(diffContracts(of({ schema: item }), of({ itemSchema: item })), [])
  const changes = diffContracts(of({ itemSchema: { type: 'object' } }), of({ itemSchema: item }))
  t.match(changes.map(lineOf), [/^breaking/])
})

for (const [mediaType, was, is, bump] of rows)
  t.test(`keepAliveMs of ${mediaType} from ${was} to ${is} is ${bump}`, async (t) => {
    const changes = diffContracts(documentOf(mediaType, was), documentOf(mediaType, is))
    t.strictSame(
      changes.map((each) => lineOf(each).split(/\s+/)[0]),
      [bump],
    )
  })
