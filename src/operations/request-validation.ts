// Requests against the contract. Only parameters are coerced, for they arrive as text; nothing unknown
// is dropped, and every violation of a request is reported at once.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { isExplodedObject } from '../contract/parameters.js'
import type { Operation, Schema } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { compilable, createAjv } from '../schemas/ajv.js'
import { parseJson } from '../schemas/json.js'
import { accepts, isJson } from '../schemas/media-types.js'
import { describeViolations, joinViolations } from '../schemas/messages.js'
import { forbid, withoutForbidden } from '../schemas/read-write-only.js'
import { mayHoldUnfitText, placeError, unfitTexts, unlessMisread } from './parameter-text.js'

const parts = [
  { name: 'path', httpPart: 'params' },
  { name: 'query', httpPart: 'querystring' },
  { name: 'header', httpPart: 'headers' },
  { name: 'cookie', httpPart: 'cookies' },
  { name: 'body', httpPart: 'body' },
] as const

/** Compiles the schemas of each part of a request, as Fastify asks for them. */
export function createValidatorCompiler(): FastifySchemaCompiler<Schema> {
  const parameters = createAjv('text', { coerceTypes: true, useDefaults: true })
  const body = createAjv('json', { useDefaults: true })
  forbid(body, 'readOnly')
  return ({ schema, httpPart }) => {
    const exact = compilable(schema)
    if (httpPart === 'body' || httpPart === 'json') return body.compile(withoutForbidden(exact, 'readOnly'))
    // Headers and cookies belong to everyone; the other parameters to the contract alone.
    if (httpPart === 'cookies') return parameters.compile(exact)
    if (httpPart === 'headers') return parameters.compile(withLowerCaseNames(exact))
    return parameters.compile({ ...exact, additionalProperties: false })
  }
}

// As Node gives them. Fastify does this for its own compiler alone.
function withLowerCaseNames(schema: Schema): Schema {
  const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] }
  const entries = Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...schema,
    properties: Object.fromEntries(entries),
    required: required.map((name) => name.toLowerCase()),
  }
}

/**
 * Refuses a body of a type or coding that the operation does not take, before it is read.
 * @throws {ApiError} `unsupported_media_type`
 */
export function checkMediaType(request: FastifyRequest, operation: Operation): void {
  if (!hasBody(request)) return
  const takes = operation.body?.mediaTypes ?? []
  const type = request.mediaType?.toLowerCase()
  const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  const isTaken = type !== undefined && takes.some((declared) => accepts(declared, type))
  const isReadable = type === undefined || !isJson(type) || charset.toLowerCase() === 'utf-8'
  if (!isTaken || !isReadable) {
    const encoding = takes.some(isJson) ? ', in UTF-8' : ''
    const wanted = takes.length > 0 ? `of type ${takes.join(' or ')}${encoding}` : 'absent'
    throw new ApiError('unsupported_media_type', `The body must be ${wanted}.`)
  }
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', 'The body must be sent without a content encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Puts a parsed JSON body in place of its bytes; a body of another type stays bytes. It is parsed here and not in the
 * content-type parser, whose failures make Fastify close the connection.
 * @throws {ApiError} `invalid_json`
 */
export function parseBody(request: FastifyRequest): void {
  if (!Buffer.isBuffer(request.body)) return
  if (request.body.length === 0) request.body = undefined
  else if (isJson(request.mediaType ?? '')) request.body = parseJson(request.body)
}

/**
 * Reports what Fastify's validation found, and what it did not get to: it stops at the first part, and sees texts only as
 * they were decoded.
 * @throws {ApiError} `invalid_request`, naming every offending place.
 */
export function checkRequest(request: FastifyRequest, operation: Operation): void {
  const bodyMissing = operation.body?.required === true && request.body === undefined
  const isRead = request.validationError === undefined && request.misread === undefined
  if (isRead && !bodyMissing && !mayHoldUnfitText(request.url)) return
  const violations = parts.flatMap(({ name, httpPart }) => {
    if (httpPart === 'body' && request.body === undefined) return bodyMissing ? ['body is required'] : []
    const misread = request.misread?.[httpPart] ?? []
    const repeated = httpPart === 'querystring' ? repetitions(request, operation) : []
    const invalid = unlessMisread(errorsOf(request, httpPart), [...misread, ...repeated])
    const errors = [...misread, ...repeated, ...invalid, ...unfitTexts(request, httpPart)]
    return describeViolations(
      name,
      httpPart === 'querystring' ? errors.map((each) => asSent(each, operation)) : errors,
    )
  })
  if (violations.length > 0) throw new ApiError('invalid_request', joinViolations(violations))
}

// The query parser makes a list of what is given twice, which a list of the contract's may be.
function repetitions({ query }: FastifyRequest, { parameters }: Operation): ErrorObject[] {
  const plain = parameters.filter((each) => each.in === 'query' && each.form === undefined)
  return plain
    .filter(({ name }) => Array.isArray((query as Record<string, unknown>)[name]))
    .map(({ name }) => placeError([name], 'must be given once'))
}

// The fields of an exploded object were sent without its name.
function asSent(error: ErrorObject, { parameters }: Operation): ErrorObject {
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params
  const ofField = [missingProperty, additionalProperty, unevaluatedProperty].some(
    (each) => each !== undefined,
  )
  const path = ofField ? `${error.instancePath}/` : error.instancePath
  const object = parameters
    .filter(({ form }) => isExplodedObject(form))
    .map(({ name }) => placeError([name], '').instancePath)
    .find((each) => path.startsWith(`${each}/`))
  return object === undefined ? error : { ...error, instancePath: error.instancePath.slice(object.length) }
}

function errorsOf(
  request: FastifyRequest,
  httpPart: (typeof parts)[number]['httpPart'],
): readonly ErrorObject[] {
  const validate = validatorOf(request, httpPart)
  const data = httpPart === 'querystring' ? request.query : request[httpPart]
  return validate === undefined || validate(data) ? [] : (validate.errors ?? [])
}

// Fastify keeps the body's validators by media type, the others by themselves.
function validatorOf(request: FastifyRequest, httpPart: string): ValidateFunction | undefined {
  type Validators = ValidateFunction | Record<string, ValidateFunction> | undefined
  // Fastify's type knows nothing of the map, nor of which library made the function.
  const found = request.getValidationFunction(httpPart as 'body') as unknown as Validators
  return typeof found === 'object' ? found[request.mediaType?.toLowerCase() ?? ''] : found
}
