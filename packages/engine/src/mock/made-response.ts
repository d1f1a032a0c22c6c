// The response of an operation without a handler: the declared success or the response that the request
// prefers, with the contract's examples, or else with a value that the contract's own validator accepts.

import type { Content, Contract, Operation, Response } from '../document/contract.js'
import { essence, isJson, isRange } from '../document/media-types.js'
import { nodeOf, Reader } from '../document/reader.js'
import { ownError } from '../document/request-error.js'
import { errorsAmong, successesAmong } from '../document/responses.js'
import { isStream, kindOf } from '../kinds/index.js'
import type { HandlerResponse } from '../serve/response/response-serialization.js'
import { byStatus, type ResponseCheck } from '../serve/response/response-validation.js'
import { type Example, examplesOf } from './examples.js'
import { type HeaderParts, madeHeaders, responseNode } from './made-headers.js'
import { appliedText, type Preferences } from './preferences.js'
import { type Accepts, valuesOf } from './values.js'

/** What the responses of a contract are made with. */
export function makingParts({ specification, judges: create }: Contract): HeaderParts {
  const judges = create()
  const accepts: Accepts = (schema, value) => {
    try {
      return judges.responseBody(schema)(value)
    } catch {
      return true // a part that does not compile alone; the whole is judged anyway
    }
  }
  return { judges, accepts, reader: new Reader(specification) }
}

/** What a request says of the response that it wants. */
export interface Wish extends Preferences {
  /** The media type that it accepts, where successes declare several. */
  readonly accept: string | undefined
}

/** Makes the responses of an operation: the same for the same wish. */
export type MakeResponse = (wish: Wish, check: ResponseCheck) => HandlerResponse

/** Creates what makes the responses of an operation, each when it is first asked for. */
export function createMaker(operation: Operation, parts: HeaderParts): MakeResponse {
  const made = new Map<string, HandlerResponse>()
  const usual = new Map<string | undefined, HandlerResponse>()
  return (wish, check) => {
    const isUsual = wish.code === undefined && wish.example === undefined
    const known = isUsual ? usual.get(wish.accept) : undefined
    if (known !== undefined) return known
    const choice = choiceOf(operation, wish, parts.reader)
    const key = JSON.stringify([choice.status, choice.content?.mediaType, choice.applied])
    const response = made.get(key) ?? makeResponse(operation, choice, check, parts)
    made.set(key, response)
    if (isUsual) usual.set(wish.accept, response)
    return response
  }
}

interface Choice {
  readonly response: Response
  readonly status: number
  readonly content: Content | undefined
  readonly applied: Preferences
}

// A preference that names what the contract does not have is passed over, as RFC 7240 says (section 2).
function choiceOf(operation: Operation, wish: Wish, reader: Reader): Choice {
  const { responses } = operation
  const declared = isFinal(wish.code) ? byStatus(responses)(wish.code) : undefined
  const asked = empty.has(wish.code) && declared?.contents.length !== 0 ? undefined : declared
  const code = asked === undefined ? undefined : wish.code
  const successes = successesAmong(responses).filter(({ status }) => !status.startsWith('1'))
  const ordered = [...successes.sort(byKey), ...errorsAmong(responses)]
  const candidates = asked === undefined ? ordered : [asked]
  const named =
    wish.example === undefined ? undefined : exampleIn(operation, candidates, wish.example, reader)
  const response = named?.response ?? (candidates[0] as Response)
  const status = code ?? statusOf(response)
  const content = named?.content ?? contentOf(response, wish.accept)
  const applied = { code, example: named === undefined ? undefined : wish.example }
  return { response, status, content, applied }
}

// One that ends a response, and so many that all of them can be kept.
function isFinal(code: number | undefined): code is number {
  return code !== undefined && code >= 200 && code <= 599
}

// Their responses have no content (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5), so none is of a declared
// one.
const empty: ReadonlySet<number | undefined> = new Set([204, 205, 304])

// 200 before 202, and both before 2XX and default.
function byKey(a: Response, b: Response): number {
  return a.status < b.status ? -1 : 1
}

function exampleIn(operation: Operation, responses: readonly Response[], name: string, reader: Reader) {
  for (const response of responses)
    for (const content of response.contents)
      if (contentExamples(operation, response, content, reader).some((each) => each.name === name))
        return { response, content }
  return undefined
}

function contentExamples(
  operation: Operation,
  response: Response,
  content: Content,
  reader: Reader,
): Example[] {
  const media = nodeOf(responseNode(reader, operation, response).content)[content.mediaType]
  return examplesOf(reader.node(media), reader)
}

function contentOf({ contents }: Response, accept: string | undefined): Content | undefined {
  const accepted = contents.find(
    ({ mediaType }) => accept !== undefined && essence(mediaType) === essence(accept),
  )
  return accepted ?? contents.find(({ mediaType }) => isJson(mediaType)) ?? contents[0]
}

function statusOf({ status }: Response): number {
  if (status === 'default') return 200
  return Number(status.replaceAll('x', '0'))
}

function makeResponse(
  operation: Operation,
  { response, status, content, applied }: Choice,
  check: ResponseCheck,
  parts: HeaderParts,
): HandlerResponse {
  const text = appliedText(applied)
  const declaresVary = response.headers.some(({ name }) => /^vary$/i.test(name))
  const type = content === undefined || response.contents.length === 1 ? undefined : content.mediaType
  const given = content !== undefined && isRange(content.mediaType) ? exactType(content.mediaType) : type
  const headers = {
    ...madeHeaders(operation, response, parts),
    ...(!declaresVary && { Vary: 'Prefer' }),
    ...(text !== '' && { 'Preference-Applied': text }),
    ...(given !== undefined && { 'Content-Type': given }),
  }
  if (content === undefined) return { status, headers }
  const isValid = (body: unknown) => isBody(body, status, content, given, check)
  return { status, headers, body: bodyOf(operation, response, content, applied.example, isValid, parts) }
}

function isBody(
  body: unknown,
  status: number,
  content: Content,
  type: string | undefined,
  check: ResponseCheck,
): boolean {
  if (!isStream(content)) return check.fault(status, body, type) === undefined
  const faultOf = check.itemFault(content)
  return Array.isArray(body) && body.every((item) => faultOf(item) === undefined)
}

// The preferred example, the others, and what the schema allows.
function bodyOf(
  operation: Operation,
  response: Response,
  content: Content,
  name: string | undefined,
  isValid: (body: unknown) => boolean,
  parts: HeaderParts,
): unknown {
  const examples = contentExamples(operation, response, content, parts.reader)
  const ordered = [...examples].sort((a, b) => Number(b.name === name) - Number(a.name === name))
  const given = (name === undefined ? examples : ordered).find(({ value }) => isValid(value))
  if (given !== undefined) return given.value
  for (const value of isStream(content) ? itemLists(content, parts) : bodies(content, parts))
    if (isValid(value)) return value
  const place = `${operation.id} ${response.key} ${content.mediaType}`
  throw ownError(
    'not_implemented',
    `No value was found for ${place}: give it an example that its schema allows.`,
  )
}

function* bodies({ schema, kind }: Content, parts: HeaderParts): Generator<unknown> {
  if (schema !== undefined) yield* valuesOf(schema, parts)
  yield* kindOf({ kind }).isOfValue ? [{}, [], 'text'] : ['text', '']
}

const itemsMax = 3

function* itemLists({ schema = true, framing }: Content, parts: HeaderParts): Generator<unknown> {
  const isValid = (item: unknown) => parts.accepts(schema, item)
  yield Array.from({ length: itemsMax }, (_, i) => {
    for (const value of valuesOf(schema, parts, i)) if (isValid(value)) return [value]
    return []
  })
    .flat()
    .map((item) => (framing === 'sse' ? withoutOrders(item as object, isValid) : item))
}

// A made `retry` would tell clients how soon they come back, and a made `id` what they have read.
function withoutOrders(event: object, isValid: (item: unknown) => boolean): unknown {
  const others = Object.fromEntries(Object.entries(event).filter(([name]) => !/^(?:id|retry)$/.test(name)))
  return isValid(others) ? others : event
}

function exactType(range: string): string {
  const of = essence(range).split('/')[0] ?? ''
  const types: Readonly<Record<string, string>> = {
    text: 'text/plain',
    application: 'application/octet-stream',
    image: 'image/png',
    audio: 'audio/mpeg',
    video: 'video/mp4',
  }
  return types[of] ?? 'application/octet-stream'
}
