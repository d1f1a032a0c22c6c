// Sequential media types (OpenAPI 3.2, section 4.14).

import type { Content } from './contract.js'
import { essence } from './media-types.js'

/** How each item of a stream is framed: see streams.md. */
export type Framing = NonNullable<Content['framing']>

/** The framing of a media type; undefined of one that is no sequence of items. */
export function framingOf(mediaType: string): Framing | undefined {
  const name = essence(mediaType)
  if (name === 'text/event-stream') return 'sse'
  if (/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)$/.test(name)) return 'lines'
  return /^application\/(.+\+)?json-seq$/.test(name) ? 'sequence' : undefined
}
