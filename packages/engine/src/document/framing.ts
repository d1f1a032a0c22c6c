// Sequential media types (OpenAPI 3.2, section 4.14), and the sign of life of a stream that has no item to
// send.

import type { Content, OperationLimits } from './contract.js'
import { defaultKeepAliveMs } from './defaults.js'
import { essence } from './media-types.js'

/** How each item of a stream is framed: see streams.md. */
export type Framing = NonNullable<Content['framing']>

/**
 * The framing of a media type; undefined of one that is no sequence of items, or only with `itemSchema`, as
 * CSV is.
 */
export function framingOf(mediaType: string): Framing | undefined {
  const name = essence(mediaType)
  if (name === 'text/event-stream') return 'sse'
  if (/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)$/.test(name)) return 'lines'
  return /^application\/(.+\+)?json-seq$/.test(name) ? 'sequence' : undefined
}

/** What a stream sends in a silence, and how long after what was sent last. */
export interface KeepAlive {
  readonly text: string
  /** Infinity: never. */
  readonly afterMs: number
}

/** What a stream of a media type sends in a silence. */
export function keepAliveOf(
  mediaType: string,
  { keepAliveMs }: Pick<OperationLimits, 'keepAliveMs'>,
): KeepAlive {
  const framing = framingOf(mediaType)
  if (framing === undefined) return { text: '', afterMs: Number.POSITIVE_INFINITY } // an empty row is one
  if (framing === 'lines') return emptyLine(mediaType, keepAliveMs)
  // Of events, a comment. An empty line after it would be an empty event to some clients, once there was an
  // id. In a sequence, between two separators there is no item (RFC 7464, section 2.1).
  const text = framing === 'sse' ? ':\n' : '\x1e'
  return { text, afterMs: keepAliveMs ?? defaultKeepAliveMs }
}

// Readers of NDJSON may skip empty lines, and many do not: it takes a contract that says that its own do. To
// readers of JSON Lines each line is a value.
function emptyLine(mediaType: string, afterMs = Number.POSITIVE_INFINITY): KeepAlive {
  return { text: '\n', afterMs: /ndjson$/.test(essence(mediaType)) ? afterMs : Number.POSITIVE_INFINITY }
}
