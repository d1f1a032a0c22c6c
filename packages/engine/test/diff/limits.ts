// What contract:diff says of the signs of life of streams: a client takes one for lost after four.

import t from 'tap'
import { diffContracts } from '../../src/diff/contract.js'
import { lineOf } from '../../src/diff/report.js'

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

for (const [mediaType, was, is, bump] of rows)
  t.test(`keepAliveMs of ${mediaType} from ${was} to ${is} is ${bump}`, async (t) => {
    const changes = diffContracts(documentOf(mediaType, was), documentOf(mediaType, is))
    t.strictSame(
      changes.map((each) => lineOf(each).split(/\s+/)[0]),
      [bump],
    )
  })
