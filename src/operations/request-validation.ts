// Requests against the contract. Only parameters are coerced, for they arrive as text; nothing unknown
// is dropped, and every violation of a request is reported at once.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { Operation, Schema } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { compilable, createAjv } from '../schemas/ajv.js'
import { parseJson } from '../schemas/json.js'
import { accepts, isJson } from '../schemas/media-types.js'
import { describeViolations, joinViolations } from '../schemas/messages.js'
import { forbid, withoutForbidden } from '../schemas/read-write-only.js'
import { mayHoldUnfitText, unfitTexts } from './parameter-text.js'

const parts = [
  { name: 'path', httpPart: 'params' },
  { name: 'query', httpPart: 'querystring' },
  { name: 'header', httpPart: 'headers' },
  { name: 'body', httpPart: 'body' },
] as const

/** Compiles the schemas of each part of a request, as Fastify asks for them. */
export function createValidatorCompiler(): FastifySchemaCompiler<Schema> {
  // `array` makes a list of a single value where the contract asks for one; it never meets the reverse,
  // a list of one, for the query parser makes lists of two and more only.
  const parameters = createAjv('text', { coerceTypes: 'array', useDefaults: true })
  const body = createAjv('json', { useDefaults: true })
  forbid(body, 'readOnly')
  return ({ schema, httpPart }) => {
    const exact = compilable(schema)
    if (httpPart === 'body') return body.compile(withoutForbidden(exact, 'readOnly'))
    // Headers belong to everyone; the other parameters to the contract alone.
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
  if (request.validationError === undefined && !bodyMissing && !mayHoldUnfitText(request.url)) return
  const violations = parts.flatMap(({ name, httpPart }) => {
    if (httpPart === 'body' && request.body === undefined) return bodyMissing ? ['body is required'] : []
    return describeViolations(name, [...errorsOf(request, httpPart), ...unfitTexts(request, httpPart)])
  })
  if (violations.length > 0) throw new ApiError('invalid_request', joinViolations(violations))
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
