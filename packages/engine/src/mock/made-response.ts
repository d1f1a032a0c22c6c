// Makes the response of an operation without a handler: the declared success, or the response that the
// request prefers. The body is the contract's example, or else a value that the contract's own validator
// accepts.

import { STATUS_CODES } from 'node:http'
import { createFunctions, createJudge } from '../compile/code/compilers.js'
import { type Example, examplesOf } from '../compile/examples/given.js'
import { type Accepts, valuesOf } from '../compile/examples/values.js'
import type { ReadContract } from '../compile/read.js'
import type { Content, Contract, Operation, Response } from '../document/contract.js'
import { ownErrorStatuses } from '../document/defaults.js'
import type { Functions } from '../document/functions.js'
import { essence, isJson, isRange } from '../document/media-types.js'
import { nodeOf, Reader } from '../document/reader.js'
import { ownError } from '../document/request-error.js'
import { errorsAmong, successesAmong } from '../document/responses.js'
import { isStream, kindOf } from '../kinds/index.js'
import type { HandlerResponse } from '../serve/response/response-serialization.js'
import { byStatus, type ResponseCheck } from '../serve/response/response-validation.js'
import { type HeaderParts, madeHeaders, responseNode } from './made-headers.js'
import { appliedText, type Preferences } from './preferences.js'
import { itemsOfExample, madeItems } from './stream-items.js'
import { statusTold, tellings } from './told.js'

/** What the responses of a contract are made from. */
export interface MakingParts extends HeaderParts {
  readonly errorStatuses: Contract['errorStatuses']
  readonly functions: Functions
}

/** Creates the parts from which the responses of a contract are made. */
export function makingParts({ specification, named, errorStatuses }: ReadContract): MakingParts {
  const judge = createJudge(specification)
  const accepts: Accepts = (schema, value) => {
    try {
      return judge('responseBody', schema)(value)
    } catch {
      return true // a part that does not compile by itself is accepted; the whole is judged later
    }
  }
  const functions = createFunctions(specification, named, judge)
  return { judge, functions, accepts, reader: new Reader(specification), errorStatuses }
}

/** What a request says about the response that it wants. */
export interface Wish extends Preferences {
  /** The media type that the request accepts, if successes declare several. */
  readonly accept: string | undefined
}

/** Makes the responses of an operation: always the same for the same wish. */
export type MakeResponse = (wish: Wish, check: ResponseCheck) => HandlerResponse

/** Returns a wish for each response of an operation, with the key of the response in the document. */
export function wishesOf(operation: Operation): readonly { readonly wish: Wish; readonly key: string }[] {
  const none = { code: undefined, example: undefined, accept: undefined }
  const [usual] = candidatesFor(operation, undefined)
  const preferred = [...operation.responses.values()].flatMap(({ status, key, contents }) => {
    const code = status === 'default' ? 500 : Number(status.replaceAll('x', '0'))
    const types = contents.length === 0 ? [undefined] : contents.map(({ mediaType }) => mediaType)
    return types.map((accept) => ({ wish: { ...none, code, accept }, key }))
  })
  return [...(usual === undefined ? [] : [{ wish: none, key: usual.key }]), ...preferred]
}

/** What all responses of an operation are made from. */
interface Making {
  readonly operation: Operation
  readonly check: ResponseCheck
  readonly parts: MakingParts
  /** Why no value was found, by the response and media type for which it was tried. */
  readonly unmade: Map<string, string>
}

/** Creates the function that makes the responses of an operation, each when it is first asked for. */
export function createMaker(operation: Operation, parts: MakingParts): MakeResponse {
  const made = new Map<string, HandlerResponse>()
  const usual = new Map<string | undefined, HandlerResponse>()
  const unmade = new Map<string, string>()
  const names = new Set<string | undefined>(namesOf(operation, parts.reader))
  return ({ code, example, accept }, check) => {
    const isUsual = code === undefined && example === undefined
    const known = isUsual ? usual.get(accept) : undefined
    if (known !== undefined) return known
    // Reduced to what the contract has, which bounds the cache. Other preferences are ignored (RFC 7240,
    // section 2).
    const wish = {
      code: isDeclared(code, operation) ? code : undefined,
      example: names.has(example) ? example : undefined,
      accept,
    }
    const key = JSON.stringify([wish.code, wish.example, accept])
    const response = made.get(key) ?? makeResponse({ operation, check, parts, unmade }, wish)
    made.set(key, response)
    if (isUsual) usual.set(accept, response)
    return response
  }
}

// True if the status is declared and ends a response. A status without content (RFC 9110, sections 15.3.5,
// 15.3.6 and 15.4.5) does not count as declared if its response has a body.
function isDeclared(code: number | undefined, { responses }: Operation): boolean {
  if (code === undefined || code < 200 || code > 599) return false
  const declared = byStatus(responses)(code)
  return declared !== undefined && !([204, 205, 304].includes(code) && declared.contents.length > 0)
}

function namesOf(operation: Operation, reader: Reader): (string | undefined)[] {
  return [...operation.responses.values()].flatMap((response) =>
    response.contents.flatMap((content) =>
      contentExamples(operation, response, content, reader).map(({ name }) => name),
    ),
  )
}

/** A response, and the content of its body. */
interface Choice {
  readonly response: Response
  readonly content: Content | undefined
  readonly status: number
  readonly body?: unknown
}

function makeResponse(making: Making, { code, example, accept }: Wish): HandlerResponse {
  const { operation, parts } = making
  const candidates = candidatesFor(operation, code)
  const named =
    example === undefined ? undefined : namedExample(making, candidates, { code, example, accept })
  const { response, content, status, body } =
    named ?? usualOf(making, candidates[0] as Response, { code, accept })
  const applied = appliedText({ code, example: named && example })
  const declaresVary = response.headers.some(({ name }) => /^vary$/i.test(name))
  const type = typeOf(response, content)
  const headers = {
    ...madeHeaders(operation, response, parts),
    ...(!declaresVary && { Vary: 'Prefer' }),
    ...(applied !== '' && { 'Preference-Applied': applied }),
    ...(type !== undefined && { 'Content-Type': type }),
  }
  return content === undefined ? { status, headers } : { status, headers, body }
}

// Returns responses in this order: 200 before 202, both before 2XX and default, and all of them before
// errors.
function candidatesFor({ responses }: Operation, code: number | undefined): readonly Response[] {
  const declared = code === undefined ? undefined : byStatus(responses)(code)
  if (declared !== undefined) return [declared]
  const successes = successesAmong(responses).filter(({ status }) => !status.startsWith('1'))
  return [...successes.sort((a, b) => (a.status < b.status ? -1 : 1)), ...errorsAmong(responses)]
}

/** The preferred status, and the media type that the request accepts. */
type Asked = Omit<Wish, 'example'>

// Returns the example with this name, if its schema allows it and it tells no other status than the
// response's.
function namedExample(making: Making, candidates: readonly Response[], wish: Wish): Choice | undefined {
  const { operation, parts } = making
  for (const response of candidates) {
    for (const content of inOrder(response.contents, wish.accept)) {
      const examples = contentExamples(operation, response, content, parts.reader)
      for (const { value } of examples.filter(({ name }) => name === wish.example)) {
        const status = wish.code ?? statusFor(making, response, value)
        const choice = { response, content, status }
        const body = tellsOf(making, choice, value) ? bodyOfExample(making, choice, value) : undefined
        if (body !== undefined) return { ...choice, body: body.value }
      }
    }
  }
  return undefined
}

// Returns the first example that its schema allows, or else a value that the schema allows. The request
// prefers no example.
function usualOf(making: Making, response: Response, { code, accept }: Asked): Choice {
  const [content] = inOrder(response.contents, accept)
  if (content === undefined)
    return { response, content, status: code ?? statusFor(making, response, undefined) }
  const examples = contentExamples(making.operation, response, content, making.parts.reader)
  for (const { value } of examples) {
    const choice = { response, content, status: code ?? statusFor(making, response, value) }
    const body = tellsOf(making, choice, value) ? bodyOfExample(making, choice, value) : undefined
    if (body !== undefined) return { ...choice, body: body.value }
  }
  const choice = { response, content, status: code ?? statusFor(making, response, undefined) }
  return { ...choice, body: madeBody(making, choice, examples) }
}

// Sorts the accepted media type first, and JSON before other types.
function inOrder(contents: readonly Content[], accept: string | undefined): readonly Content[] {
  const rank = ({ mediaType }: Content) =>
    accept !== undefined && essence(mediaType) === essence(accept) ? 0 : isJson(mediaType) ? 1 : 2
  return [...contents].sort((a, b) => rank(a) - rank(b))
}

function contentExamples(
  operation: Operation,
  response: Response,
  content: Content,
  reader: Reader,
): Example[] {
  const media = nodeOf(responseNode(reader, operation, response).content)[content.mediaType]
  return examplesOf(reader.node(media), reader, isJson(content.mediaType))
}

// For a range of statuses, returns the status that an example tells, if it is in the range.
function statusFor({ operation, parts }: Making, response: Response, example: unknown): number {
  const { status } = response
  if (/^\d{3}$/.test(status)) return Number(status)
  const isError = errorsAmong(operation.responses).includes(response)
  const told = isError ? statusTold(example, parts.errorStatuses) : undefined
  if (told !== undefined && byStatus(operation.responses)(told) === response) return told
  if (status === 'default') return isError ? 500 : 200
  return Number(status.replaceAll('x', '0'))
}

// True if the example tells the response's status, or none. For an exact status, the example's author has
// decided; for a range, an example may tell a status other than the one that is sent.
function tellsOf({ operation, parts }: Making, { response, status }: Choice, example: unknown): boolean {
  if (/^\d{3}$/.test(response.status) || !errorsAmong(operation.responses).includes(response)) return true
  const told = statusTold(example, parts.errorStatuses)
  return told === undefined || told === status
}

function typeOf({ contents }: Response, content: Content | undefined): string | undefined {
  if (content === undefined) return undefined
  if (isRange(content.mediaType)) return exactType(content.mediaType)
  return contents.length === 1 ? undefined : content.mediaType
}

interface WithContent extends Choice {
  readonly content: Content
}

// Returns undefined if the schema forbids the example.
function bodyOfExample(
  making: Making,
  choice: WithContent,
  value: unknown,
): { readonly value: unknown } | undefined {
  if (!isStream(choice.content)) return isBody(making, choice, value) ? { value } : undefined
  const faultOf = making.check.itemFault(choice.content)
  const items = itemsOfExample(value, choice.content, (item) => faultOf(item) === undefined)
  return items && { value: items }
}

function isBody({ check }: Making, { response, content, status }: WithContent, body: unknown): boolean {
  if (!isStream(content)) return check.fault(status, body, typeOf(response, content)) === undefined
  const faultOf = check.itemFault(content)
  return Array.isArray(body) && body.every((item) => faultOf(item) === undefined)
}

function madeBody(making: Making, choice: WithContent, examples: readonly Example[]): unknown {
  const { operation, parts, unmade } = making
  const { response, content, status } = choice
  const key = JSON.stringify([status, response.key, content.mediaType])
  const known = unmade.get(key)
  if (known !== undefined) throw ownError('not_implemented', known)
  const isError = errorsAmong(operation.responses).includes(response)
  const facts = { status, message: STATUS_CODES[status] }
  const codes = isError ? codesOf(status, parts) : []
  const values = isStream(content) ? [madeItems(content, parts)] : bodies(content, examples, parts)
  for (const value of values)
    for (const body of isError ? tellings(value, facts, codes) : [value])
      if (isBody(making, choice, body)) return body
  const reason = noValue(operation, response, content)
  unmade.set(key, reason)
  throw ownError('not_implemented', reason)
}

function noValue({ id }: Operation, { key }: Response, { mediaType }: Content): string {
  return `No value was found for ${id} ${key} ${mediaType}: give it an example that its schema allows.`
}

/** Returns the codes of a status: the contract's own before those that any server may send. */
export function codesOf(
  status: number,
  { errorStatuses }: Pick<MakingParts, 'errorStatuses'>,
): readonly string[] {
  const codes = [...errorStatuses].flatMap(([code, each]) => (each === status ? [code] : []))
  const isOwn = (code: string) => Number(Object.hasOwn(ownErrorStatuses, code))
  return codes.sort((a, b) => isOwn(a) - isOwn(b))
}

// Also tries examples that tell another status: they show which fields a body has.
function* bodies(
  { schema, kind }: Content,
  examples: readonly Example[],
  parts: MakingParts,
): Generator<unknown> {
  for (const { value } of examples) yield value
  if (schema !== undefined) yield* valuesOf(schema, parts)
  yield* kindOf({ kind }).isOfValue ? [{}, [], 'text'] : ['text', '']
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
