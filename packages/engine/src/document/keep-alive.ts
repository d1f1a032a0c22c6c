// The sign of life of a stream that has no item to send: what it is, and how long after what was sent last.

import type { OperationLimits } from './contract.js'
import { defaultKeepAliveMs } from './defaults.js'
import { framingOf } from './framing.js'
import { essence } from './media-types.js'

/** What a stream sends in a silence. */
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
