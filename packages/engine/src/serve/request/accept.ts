// `Accept`: chooses the media type of an operation's responses that a client prefers (RFC 9110, section
// 12.5.1). It does not use `negotiator`, which `/docs` uses for codings: that library decides ties by the
// client's order, but the contract promises its own order.

import type { Content } from '../../document/contract.js'
import { essence, isRange, parametersOf } from '../../document/media-types.js'
import { sentType } from '../../kinds/index.js'
import { elementsOf, readParameters } from '../../lib/field-values.js'

/** Returns the media type that an `Accept` prefers; undefined if it accepts none. */
export type Prefer = (accept: string | undefined) => string | undefined

/** A media type, or a range of media types, with its parameters, all in lower case. */
interface MediaRange {
  readonly type: string
  readonly subtype: string
  readonly parameters: Map<string, string>
}

/** A media range of an `Accept`, with its weight. */
interface Accepted extends MediaRange {
  readonly quality: number
}

/** A media type that could be sent, and how much the client wants it. */
interface Candidate {
  readonly mediaType: string
  readonly quality: number
  /** The specificity of the media range that includes the type: the most specific range sets the quality. */
  readonly specificity: number
}

/**
 * Creates the function that chooses among the media types of contents: by quality, then by how exactly the
 * client names a type, then by their order. All are equal without an `Accept`, and with one that has no valid
 * media range. From a declared range, such as `image/*`, it chooses the type that the client names, or else
 * the range. The cost is linear in the length of the header, which the server bounds.
 */
export function createPreference(contents: readonly Content[]): Prefer {
  const first = contents[0]?.mediaType
  const declared = contents.map((each) => {
    return { mediaType: each.mediaType, range: readMediaRange(sentType(each)) }
  })
  return (accept) => {
    if (accept === undefined || accept === '*/*') return first
    const accepted = readAccept(accept)
    if (accepted.length === 0) return first
    const candidates = declared.flatMap(({ mediaType, range }) => {
      if (range === undefined) return []
      const own = included(mediaType, range, accepted)
      return isRange(mediaType) ? [own, named(range, accepted)] : [own]
    })
    return best(candidates)?.mediaType
  }
}

/**
 * Like `createPreference`, but chooses the first type for a client that accepts none (RFC 9110, section
 * 12.5.1).
 */
export function createChoice([first, ...others]: readonly [Content, ...Content[]]): (
  accept: string | undefined,
) => string {
  const prefer = createPreference([first, ...others])
  return (accept) => prefer(accept) ?? first.mediaType
}

// Remembers the last header, because several choices read the same one. The result depends on the text alone
// and no caller changes it, so another request may get it.
let last: { readonly accept: string; readonly accepted: readonly Accepted[] } | undefined

function readAccept(accept: string): readonly Accepted[] {
  if (last?.accept !== accept)
    last = { accept, accepted: elementsOf(accept).flatMap((each) => readAccepted(each) ?? []) }
  return last.accepted
}

function best(candidates: readonly Candidate[]): Candidate | undefined {
  let found: Candidate | undefined
  for (const each of candidates)
    if (each.quality > 0 && (found === undefined || isPreferred(each, found))) found = each
  return found
}

function isPreferred(a: Candidate, b: Candidate): boolean {
  return a.quality > b.quality || (a.quality === b.quality && a.specificity > b.specificity)
}

// Rates a declared media type by the most specific range that includes it.
function included(mediaType: string, range: MediaRange, accepted: readonly Accepted[]): Candidate {
  let found: Candidate = { mediaType, quality: 0, specificity: -1 }
  for (const each of accepted) {
    if (!includes(each, range)) continue
    const specificity = specificityOf(each)
    const isDecisive =
      specificity > found.specificity || (specificity === found.specificity && each.quality > found.quality)
    if (isDecisive) found = { mediaType, quality: each.quality, specificity }
  }
  return found
}

// Finds the type or narrower range that the client wants most within a declared range.
function named(range: MediaRange, accepted: readonly Accepted[]): Candidate {
  let found: Candidate = { mediaType: '', quality: 0, specificity: -1 }
  for (const each of accepted) {
    if (includes(each, range) || !includes(range, each)) continue
    const candidate = {
      mediaType: `${each.type}/${each.subtype}`,
      quality: each.quality,
      specificity: specificityOf(each),
    }
    if (isPreferred(candidate, found)) found = candidate
  }
  return found
}

function includes(range: MediaRange, { type, subtype, parameters }: MediaRange): boolean {
  if (range.type !== '*' && range.type !== type) return false
  if (range.subtype !== '*' && range.subtype !== subtype) return false
  for (const [name, value] of range.parameters)
    if (parameters.get(name) !== value && !isOwnCharset(name, value, parameters)) return false
  return true
}

// A type without a charset is sent in UTF-8: some clients ask for `text/event-stream; charset=utf-8`.
function isOwnCharset(name: string, value: string, parameters: MediaRange['parameters']): boolean {
  return name === 'charset' && /^utf-?8$/.test(value) && !parameters.has(name)
}

// A range that includes a media type has no more parameters than the contract gives that type.
function specificityOf({ type, subtype, parameters }: MediaRange): number {
  if (type === '*') return 0
  return subtype === '*' ? 1 : 2 + parameters.size
}

// Returns undefined for a malformed element, which is then ignored. RFC 9110 lets any parameter called `q` be
// the weight.
function readAccepted(text: string): Accepted | undefined {
  const range = readMediaRange(text)
  if (range === undefined) return undefined
  const { type, subtype, parameters } = range
  const q = parameters.get('q')
  if (q === undefined) return { type, subtype, parameters, quality: 1 }
  if (!weight.test(q)) return undefined
  parameters.delete('q')
  return { type, subtype, parameters, quality: Math.min(Number(q), 1) }
}

// Accepts more than RFC 9110, section 12.4.2: Java sends `q=.2`.
const weight = /^(\d+(\.\d*)?|\.\d+)$/
const mediaRange = /^(?:(\*)\/(\*)|([!#$%&'+.^_`|~\w-]+)\/([!#$%&'*+.^_`|~\w-]+))$/

function readMediaRange(text: string): MediaRange | undefined {
  const match = mediaRange.exec(essence(text))
  if (match === null) return undefined
  const [, anyType, anySubtype, type = anyType, subtype = anySubtype] = match
  if (type === undefined || subtype === undefined) return undefined
  if (readParameters(text).fault !== undefined) return undefined
  return { type, subtype, parameters: parametersOf(text) }
}
