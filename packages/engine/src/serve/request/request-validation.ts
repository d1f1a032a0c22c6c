// Validates requests against the contract. Parameters are coerced, because they arrive as text; nothing else
// is. Unknown fields are errors, not dropped, and all violations of a request are reported at once.

import type { IncomingMessage } from 'node:http'
import type { ErrorObject } from 'ajv'
import type { FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify'
import type { Content, Operation } from '../../document/contract.js'
import type { Validator } from '../../document/functions.js'
import { ambiguityOf, contentFor, isUtf8 } from '../../document/media-types.js'
import { partNames, type RequestPart, requestParts } from '../../document/part-names.js'
import { jsonPointer } from '../../document/pointer.js'
import { ownError, type RequestError } from '../../document/request-error.js'
import { kindOf } from '../../kinds/index.js'
import { bodyLength } from '../../lib/field-values.js'
import { errorsMax } from '../../runtime/explain.js'
import { beforeFile, errorAt, withPath } from '../../runtime/messages.js'
import { isTooComplex } from '../../runtime/steps.js'
import { needlessNulls } from './needless-nulls.js'
import { exceptFor, invalidTexts, mayContainInvalidText } from './parameter-text.js'
import { declaredAs, readErrors, receivedBy, responseTo, upload } from './request-parts.js'
import { invalid, violation, violationsIn } from './violations.js'

/** True if Fastify reads no body for the operation (GET and HEAD), and the operation declares none. */
export function hasNoBody({ body, isSafe }: Operation): boolean {
  return body === undefined && isSafe
}

/**
 * Creates the check that runs before a body is read. For GET, Fastify does not read the media type either.
 */
export function bodyCheck(
  operation: Operation,
): (request: FastifyRequest, reply: FastifyReply) => void | Promise<void> {
  const mayHaveBody = !hasNoBody(operation)
  return (request, reply) => {
    request[receivedBy] = operation
    request[responseTo] = reply.raw
    return mayHaveBody || bodyLength(request.headers) !== 0 ? checkMediaType(request, operation) : undefined
  }
}

/**
 * Refuses a body before it is read, if the operation declares none, or if its media type or content coding
 * differs. An undeclared length is decided by the bytes: no bytes are no body.
 * @throws {RequestError} `invalid_request` and `unsupported_media_type`
 */
function checkMediaType(request: FastifyRequest, operation: Operation): void | Promise<void> {
  const length = bodyLength(request.headers)
  if (length === 0) return forgetType(request)
  const content = declaredContent(request, operation)
  request[declaredAs] = content
  if (content !== undefined) nameAsDeclared(request, content)
  const refusal = bodyRefusal(request, operation, content)
  if (refusal === undefined) return
  if (length !== undefined) throw refusal
  return refuseIfBytes(request, refusal)
}

async function refuseIfBytes(request: FastifyRequest, refusal: RequestError): Promise<void> {
  if (await hasBytes(request.raw)) throw refusal
  forgetType(request)
}

// Without a body, its type means nothing, but Fastify (5.12) would still refuse a type that it cannot read.
function forgetType({ headers, mediaType }: FastifyRequest): void {
  if (mediaType === undefined && headers['content-type'] !== undefined) delete headers['content-type']
}

// Resolves to true if a chunk arrives. The rest is not read.
function hasBytes(raw: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    raw.once('data', () => {
      raw.pause()
      resolve(true)
    })
    raw.once('close', () => resolve(true))
    raw.once('end', () => resolve(false))
  })
}

// Declarations may differ only in their parameters, which `mediaType` lacks.
function declaredContent({ headers, mediaType }: FastifyRequest, { body }: Operation): Content | undefined {
  if (mediaType === undefined) return undefined
  const { contents = [] } = body ?? {}
  return contentFor(contents, contents.length > 1 ? (headers['content-type'] ?? mediaType) : mediaType)
}

// Fastify finds the validator of a body by its media type without parameters.
function nameAsDeclared(request: FastifyRequest, { mediaType, schema }: Content): void {
  if (mediaType !== request.mediaType && schema !== undefined)
    Object.defineProperty(request, 'mediaType', { value: mediaType })
}

function bodyRefusal(
  request: FastifyRequest,
  operation: Operation,
  content: Content | undefined,
): RequestError | undefined {
  if (operation.body === undefined) return invalid([violation('body', 'must be absent')])
  const type = request.headers['content-type'] ?? ''
  const ambiguity = ambiguityOf(type)
  if (ambiguity !== undefined || content === undefined || (!isUtf8(type) && isText(content))) {
    const { contents } = operation.body
    const encoding = contents.some(isText) ? ', in UTF-8' : ''
    const types = contents.map(({ mediaType }) => mediaType)
    const reason = ambiguity === undefined ? '' : ` Its Content-Type cannot be read: ${ambiguity}.`
    const expected = `The body must be of type ${types.join(' or ')}${encoding}.`
    return ownError('unsupported_media_type', expected + reason)
  }
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() === 'identity') return undefined
  return ownError('unsupported_media_type', 'The body must be sent without a content encoding.', {
    headers: { 'Accept-Encoding': 'identity' },
  })
}

function isText(content: Content): boolean {
  return kindOf(content).isText
}

/**
 * Parses a body by its media type. It is no content-type parser, because Fastify closes the connection if one
 * fails.
 * @throws {RequestError} `invalid_json`; `invalid_request` for a malformed form
 */
export function parseBody(request: FastifyRequest): void {
  if (!Buffer.isBuffer(request.body)) return
  if (request.body.length === 0) {
    request.body = undefined
    return
  }
  const content = request[declaredAs]
  if (content === undefined) return
  const { received } = kindOf(content)
  if (received === undefined) return
  const { value, faults } = received.read(request.body, content, request.headers['content-type'] ?? '')
  request.body = value
  noteErrors(request, 'body', faults)
}

/** Adds the errors of a part that could not be read; `checkRequest` reports them. */
export function noteErrors(request: FastifyRequest, part: RequestPart, errors: readonly ErrorObject[]): void {
  if (errors.length > 0) request[readErrors] = { ...request[readErrors], [part]: errors }
}

/** Creates the check of all that has been read, as a hook without a wait. */
export function requestCheck(operation: Operation): preHandlerHookHandler {
  return (request, _reply, done) => {
    checkRequest(request, operation)
    done()
  }
}

/**
 * Reports all violations of a request. Fastify's own validation stops at the first invalid part, and sees
 * decoded text.
 * @throws {RequestError} `invalid_request`, naming every violation; `request_too_complex`
 */
function checkRequest(request: FastifyRequest, operation: Operation): void {
  const bodyMissing = operation.body?.required === true && request.body === undefined
  refuseIfTooComplex(request.validationError?.validation)
  const isRead = request.validationError === undefined && request[readErrors] === undefined
  const isSuspect = bodyMissing || mayContainInvalidText(request.url)
  if (isRead && !isSuspect) return
  let areAll = true
  const violations = requestParts.flatMap((httpPart) => {
    if (httpPart === 'body' && request.body === undefined)
      return bodyMissing ? [violation('body', 'is required')] : []
    const repeated = httpPart === 'querystring' ? repetitions(request, operation) : []
    const known = [...(request[readErrors]?.[httpPart] ?? []), ...repeated]
    const found = errorsOf(request, httpPart)
    refuseIfTooComplex([...known, ...found])
    const invalid = exceptFor(found, known)
    const all = [...known, ...invalid, ...invalidTexts(request, httpPart)]
    const errors = all.slice(0, errorsMax)
    if (all.length >= errorsMax) areAll = false
    const needless = httpPart === 'body' ? needlessIn(request, errors) : none
    return violationsIn(partNames[httpPart], toldOf(request, operation, httpPart, errors), needless)
  })
  if (violations.length > 0) throw invalid(violations, areAll)
}

const none: ReadonlySet<string> = new Set()

function needlessIn(request: FastifyRequest, errors: readonly ErrorObject[]): ReadonlySet<string> {
  return needlessNulls(request.body, errors, validatorOf(request, 'body'))
}

// A validator that gives up has not looked for all errors, so the request is refused as a whole.
function refuseIfTooComplex(errors: readonly Pick<ErrorObject, 'keyword'>[] = []): void {
  if (errors.some(isTooComplex))
    throw ownError('request_too_complex', 'The request would take too many steps to check.')
}

// Rewrites the errors of a part in terms of what the client sent.
function toldOf(
  request: FastifyRequest,
  operation: Operation,
  httpPart: RequestPart,
  errors: readonly ErrorObject[],
): readonly ErrorObject[] {
  if (httpPart === 'querystring') return errors.map((each) => asSent(each, operation))
  const file = httpPart === 'body' ? request[upload]?.file : undefined
  return file === undefined ? errors : errors.map((each) => beforeFile(each, file))
}

// The query parser makes an array of a repeated parameter, but parameters without a `form` are single values.
function repetitions({ query }: FastifyRequest, { parameters }: Operation): ErrorObject[] {
  const plain = parameters.filter((each) => each.in === 'query' && each.form === undefined)
  return plain
    .filter(({ name }) => Array.isArray((query as Record<string, unknown>)[name]))
    .map(({ name }) => errorAt([name], 'must be given once'))
}

// Removes from an error's path a name that was not sent: the fields of an exploded object come without the
// object's name, and a whole query comes without its own.
function asSent(error: ErrorObject, { parameters }: Operation): ErrorObject {
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params
  const ofField = [missingProperty, additionalProperty, unevaluatedProperty].some(
    (each) => each !== undefined,
  )
  const path = ofField ? `${error.instancePath}/` : error.instancePath
  const object = parameters
    .filter((each) => each.in === 'query' && ['whole', 'fields'].includes(each.form?.read ?? ''))
    .map(({ name }) => jsonPointer([name]))
    .find((each) => path.startsWith(`${each}/`))
  return object === undefined ? error : withPath(error, (at) => at.slice(object.length))
}

// Fastify validates the parts in this order, up to the first invalid part.
const validated = ['params', 'body', 'querystring', 'headers']

// Skips a part that Fastify found valid: it has changed that part, adding defaults that were not sent.
function errorsOf(request: FastifyRequest, httpPart: RequestPart): readonly ErrorObject[] {
  if (httpPart === 'cookies') return [] // validated when they are read
  const { validationContext } = request.validationError ?? {}
  const isValid =
    validationContext === undefined || validated.indexOf(httpPart) < validated.indexOf(validationContext)
  if (isValid) return []
  const validate = validatorOf(request, httpPart)
  const data = httpPart === 'querystring' ? request.query : request[httpPart]
  return validate === undefined || validate(data) ? [] : validate.explain(data)
}

// Fastify stores the validators of a body by media type.
function validatorOf(request: FastifyRequest, httpPart: string): Validator | undefined {
  type Validators = Validator | Record<string, Validator> | undefined
  // Fastify's type lacks this map, and Ajv's type of the function.
  const found = request.getValidationFunction(httpPart as 'body') as unknown as Validators
  return typeof found === 'object' ? found[request.mediaType ?? ''] : found
}
