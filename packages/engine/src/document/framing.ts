// Sequential media types (OpenAPI 3.2, section 4.14), and the keep-alive of a stream that has no item to
// send.

import type { Content, OperationLimits } from './contract.js'
import { defaultKeepAliveMs } from './defaults.js'
import { essence } from './media-types.js'

/** How each item of a stream is framed: see docs/streams.md. */
export type Framing = NonNullable<Content['framing']>

/**
 * Returns the framing of a media type; undefined if it is no sequence of items, or only with `itemSchema`, as
 * CSV is.
 */
export function framingOf(mediaType: string): Framing | undefined {
  const name = essence(mediaType)
  if (name === 'text/event-stream') return 'sse'
  if (/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)$/.test(name)) return 'lines'
  return /^application\/(.+\+)?json-seq$/.test(name) ? 'sequence' : undefined
}

/** What a stream sends in a silence, and how long after its last bytes. */
export interface KeepAlive {
  readonly text: string
  /** Infinity for never. */
  readonly afterMs: number
}

/** Returns what a stream of a media type sends in a silence. */
export function keepAliveOf(
  mediaType: string,
  { keepAliveMs }: Pick<OperationLimits, 'keepAliveMs'>,
): KeepAlive {
  const framing = framingOf(mediaType)
  // an empty row of CSV would be a row
  if (framing === undefined) return { text: '', afterMs: Number.POSITIVE_INFINITY }
  if (framing === 'lines') return emptyLine(mediaType, keepAliveMs)
  // Events: a comment, without an empty line, which some clients would take for an empty event once there was
  // an id. Sequences: a separator, because two separators have no item between them (RFC 7464, section 2.1).
  const text = framing === 'sse' ? ':\n' : '\x1e'
  return { text, afterMs: keepAliveMs ?? defaultKeepAliveMs }
}

// Readers of NDJSON may skip empty lines, but many do not, so only a contract can say that its own readers
// do. To readers of JSON Lines, each line is a value.
function emptyLine(mediaType: string, afterMs = Number.POSITIVE_INFINITY): KeepAlive {
  return { text: '\n', afterMs: /ndjson$/.test(essence(mediaType)) ? afterMs : Number.POSITIVE_INFINITY }
}
