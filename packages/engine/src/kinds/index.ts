// The kinds of content: what is known of each, and what follows from it. A new media type is a folder,
// a row here, and a row of how contracts declare it (declared-kinds.ts).

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

/** What is known of the kind of a content. */
export function kindOf({ kind }: Pick<Content, 'kind'>): ServedKind {
  return kinds[kind]
}

/** A media type as it is sent. @param given that of a handler, where the contract has a range */
export function sentType(content: Pick<Content, 'mediaType' | 'kind'>, given = content.mediaType): string {
  return kindOf(content).sent?.typeOf(given) ?? given
}

/** Whether a content is a stream of items. */
export function isStream(content: Pick<Content, 'kind'>): boolean {
  return kindOf(content).streams === 'items'
}

/** What a program that receives a content makes of it: rows of CSV are not read one by one. */
export function receivedAs(content: Pick<Content, 'kind' | 'framing'>): ServedKind['receivedAs'] {
  return content.framing === 'rows' ? 'bytes' : kindOf(content).receivedAs
}

/** Whether a body is a stream of items. */
export function takesItems(body: Operation['body']): boolean {
  return body?.contents.some(isStream) === true
}

/** Whether a response may be a stream of items. */
export function hasStreams(responses: Operation['responses']): boolean {
  return contentsOf(responses.values()).some(isStream)
}

/**
 * The contents that a body may be written as whose handler names no media type, in the order of the document:
 * in a success, all that are written from one value, because they have the same schema.
 */
export function silentContents(response: Response, responses: Operation['responses']): readonly Content[] {
  const { contents } = response
  const silent = responseContent(contents, undefined)
  if (silent === undefined) return []
  if (!kindOf(silent).isOfValue || errorsAmong(responses).includes(response)) return [silent]
  return contents.filter((each) => kindOf(each).isOfValue && isDeepStrictEqual(each.schema, silent.schema))
}
