import t from 'tap'
import { keepAliveOf } from '../../src/document/framing.js'

const never = Number.POSITIVE_INFINITY

// The silence in milliseconds before a sign of life, by default and with keepAliveMs 5000; and the bytes
// sent.
const rows: readonly [mediaTypes: readonly string[], byDefault: number, written: number, text: string][] = [
  [['text/event-stream', 'Text/Event-Stream; charset=utf-8'], 15_000, 5_000, ':\n'],
  [['application/json-seq', 'application/geo+json-seq'], 15_000, 5_000, '\x1e'],
  [['application/x-ndjson', 'application/ndjson', 'application/X-NDJSON; charset=utf-8'], never, 5_000, '\n'],
  [['application/jsonl', 'application/jsonlines', 'application/x-json-lines'], never, never, '\n'],
]

for (const [mediaTypes, byDefault, written, text] of rows)
  for (const mediaType of mediaTypes)
    t.test(`a silence of ${mediaType} has a keep-alive where its readers skip it`, async (t) => {
      t.strictSame(keepAliveOf(mediaType, { keepAliveMs: undefined }), { text, afterMs: byDefault })
      t.strictSame(keepAliveOf(mediaType, { keepAliveMs: 5_000 }), { text, afterMs: written })
    })
