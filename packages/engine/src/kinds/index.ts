// The kinds of content that servers know, and what follows from a kind. A new media type is a folder, a row
// here, and a row in declared-kinds.ts, which says how contracts declare it.

import { isDeepStrictEqual } from 'node:util'
import type { Content, Operation, Response } from '../document/contract.js'
import { responseContent } from '../document/media-types.js'
import { contentsOf, errorsAmong } from '../document/responses.js'
import { bytes } from './bytes/served.js'
import { csv } from './csv/served.js'
import { multipart } from './form/multipart.js'
import { form } from './form/served.js'
import { json } from './json/served.js'
import type { ServedKind } from './kind.js'
import { stream } from './stream/served.js'
import { text } from './text/served.js'

const kinds: Readonly<Record<Content['kind'], ServedKind>> = {
  json,
  text,
  csv,
  form,
  multipart,
  bytes,
  stream,
}

/** Returns what servers know of the kind of a content. */
export function kindOf({ kind }: Pick<Content, 'kind'>): ServedKind {
  return kinds[kind]
}

/** Returns a media type as it is sent. @param given the type from the handler, if the contract has a range */
export function sentType(content: Pick<Content, 'mediaType' | 'kind'>, given = content.mediaType): string {
  return kindOf(content).sent?.typeOf(given) ?? given
}

/** True if a content is a stream of items. */
export function isStream(content: Pick<Content, 'kind'>): boolean {
  return kindOf(content).streams === 'items'
}

/** Returns what a receiving program makes of a content: it does not read rows of CSV one by one. */
export function receivedAs(content: Pick<Content, 'kind' | 'framing'>): ServedKind['receivedAs'] {
  return content.framing === 'rows' ? 'bytes' : kindOf(content).receivedAs
}

/** True if a body is a stream of items. */
export function takesItems(body: Operation['body']): boolean {
  return body?.contents.some(isStream) === true
}

/** True if a response may be a stream of items. */
export function hasStreams(responses: Operation['responses']): boolean {
  return contentsOf(responses.values()).some(isStream)
}

/**
 * Returns the contents as which a response may be written if its handler names no media type, in the order of
 * the document. For a success, those are all contents that are written from one value and have the same
 * schema.
 */
export function silentContents(response: Response, responses: Operation['responses']): readonly Content[] {
  const { contents } = response
  const silent = responseContent(contents, undefined)
  if (silent === undefined) return []
  if (!kindOf(silent).isOfValue || errorsAmong(responses).includes(response)) return [silent]
  return contents.filter((each) => kindOf(each).isOfValue && isDeepStrictEqual(each.schema, silent.schema))
}
