// Validates responses against the contract before they are sent: status, declared headers and body. An
// invalid response is a bug in the service: the client gets a 500 without details, the log has the operation,
// the status and the JSON pointer.

import type { ValidateFunction } from 'ajv'
import type { Content, Header, Operation } from '../contract/contract.js'
import type { AnySchema } from '../contract/keywords.js'
import { elementsOf, responseContent } from '../contract/media-types.js'
import { compilable, compileOnce, createAjv } from '../schemas/ajv.js'
import { withBytes } from '../schemas/bytes.js'
import { compilableWithout, forbid } from '../schemas/read-write-only.js'
import { createReferences } from '../schemas/references.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    responseCheck?: ResponseCheck | undefined
  }
}

/**
 * A response that the contract does not declare. The message names the operation, the status and the JSON
 * pointer.
 */
export class ResponseError extends Error {
  override name = 'ResponseError'

  constructor(
    place: string,
    readonly problem: string,
  ) {
    super(`${place}: ${problem}`)
  }
}

/**
 * The value of a response header, whose name is in lower case; undefined if it is not sent. It may be a
 * number, as Node accepts it, which is sent as text.
 */
type HeaderValueOf = (name: string) => unknown

/** Validates the responses of one operation. */
export interface ResponseCheck {
  /**
   * @param of `server` if only some headers are set, and others may be missing
   * @throws {ResponseError} when the status is not declared, or a declared header is missing or wrong
   */
  head(status: number, headerOf: HeaderValueOf, of?: 'server' | 'all'): void
  /**
   * @throws {ResponseError} when the contract does not declare the body for the status and the
   * `Content-Type`, if one is given
   */
  body(status: number, body: unknown, contentType?: string): void
  /** Whether the contract declares the status, itself or by a range or `default`, with such a body. */
  takes(status: number, body: unknown): boolean
}

/** Looks a status up: itself, its range (`4xx`), or `default`. */
export function byStatus<T>(declared: ReadonlyMap<string, T>): (status: number) => T | undefined {
  const found = new Map<number, T | undefined>()
  return (status) => {
    if (!found.has(status)) {
      const names = [String(status), `${Math.floor(status / 100)}xx`, 'default']
      const name = names.find((each) => declared.has(each)) ?? ''
      found.set(status, declared.get(name))
    }
    return found.get(status)
  }
}

/**
 * Returns a function that creates the check of an operation. Operations of a document share their compiled
 * schemas.
 */
export function createResponseChecks(
  document: object,
): (operation: Operation, areBodiesChecked: boolean) => ResponseCheck {
  const headerAjv = createAjv('text')
  const bodyAjv = createAjv('check', { allErrors: false, ownProperties: true })
  forbid(bodyAjv, 'writeOnly')
  const compileHeader = compileOnce((schema) =>
    headerAjv.compile<{ value: unknown }>({
      type: 'object',
      properties: { value: compilable(schema, 'text') },
    }),
  )
  const withReferences = createReferences(bodyAjv, document, compilableWithout('writeOnly'))
  const compileBody = compileOnce((schema) => bodyAjv.compile(withReferences(schema)))
  return ({ id, responses }, areBodiesChecked) => {
    const checks = [...responses.values()].map(({ status, headers, contents }): [string, StatusCheck] => {
      const checked = areBodiesChecked ? contents : contents.map(withoutSchema)
      const headerProblems = headers.map((header) => {
        return { key: header.name.toLowerCase(), problemOf: headerCheck(compileHeader, header) }
      })
      return [status, { headerProblems, bodyProblem: bodyCheck(compileBody, checked) }]
    })
    return responseCheck(id, byStatus(new Map(checks)))
  }
}

interface StatusCheck {
  readonly headerProblems: readonly {
    readonly key: string
    readonly problemOf: (value: unknown) => string | undefined
  }[]
  readonly bodyProblem: (body: unknown, contentType?: string) => string | undefined
}

function responseCheck(id: string, declared: (status: number) => StatusCheck | undefined): ResponseCheck {
  const fail = (status: number, problem: string) => {
    throw new ResponseError(`${id} ${status}`, problem)
  }
  const checksOf = (status: number) => declared(status) ?? fail(status, 'the status is not declared')
  return {
    head(status, headerOf, of = 'all') {
      for (const { key, problemOf } of checksOf(status).headerProblems) {
        const value = headerOf(key)
        if (of === 'server' && value === undefined) continue
        const problem = problemOf(value)
        if (problem !== undefined) fail(status, `header ${problem}`)
      }
    },
    body(status, body, contentType) {
      const problem = checksOf(status).bodyProblem(body, contentType)
      if (problem !== undefined) fail(status, problem)
    },
    takes: (status, body) => {
      const checks = declared(status)
      return checks !== undefined && checks.bodyProblem(body) === undefined
    },
  }
}

type Compile = (schema: AnySchema) => ValidateFunction

function withoutSchema({ schema: _, ...content }: Content): Content {
  return content
}

function headerCheck(
  compile: Compile,
  { name, required, schema }: Header,
): (value: unknown) => string | undefined {
  const validate = compile(schema)
  const isList = [schema.type].flat().includes('array')
  // Most headers have the same value each time.
  let lastValid: unknown
  return (value) => {
    if (value === undefined) return required ? `${name} is missing` : undefined
    if (value === lastValid) return undefined
    // OpenAPI 3.1, section 4.8.12.6: the style of headers is `simple`.
    const sent = typeof value === 'number' ? String(value) : value
    if (!validate({ value: isList ? elementsOf(String(value)) : sent }))
      return `${name} ${validate.errors?.[0]?.message}`
    lastValid = value
    return undefined
  }
}

function bodyCheck(
  compile: Compile,
  contents: readonly Content[],
): (body: unknown, contentType?: string) => string | undefined {
  if (contents.length === 0) return (body) => (body === undefined ? undefined : 'no body is declared')
  const checks = new Map(contents.map((each) => [each, contentCheck(compile, each)]))
  return (body, contentType) => {
    const content = responseContent(contents, contentType)
    if (content !== undefined) return checks.get(content)?.(body)
    return contentType === undefined
      ? 'Content-Type is missing'
      : `Content-Type ${contentType} is not declared`
  }
}

function contentCheck(compile: Compile, { kind, schema }: Content): (body: unknown) => string | undefined {
  const validate = schema === undefined ? undefined : compile(kind === 'bytes' ? withBytes(schema) : schema)
  return (body) => {
    if (kind === 'text' && typeof body !== 'string') return 'the body must be text'
    if (kind === 'bytes' && typeof body !== 'string' && !(body instanceof Uint8Array))
      return 'the body must be text or bytes'
    if (validate === undefined || validate(body)) return undefined
    const { instancePath, message } = validate.errors?.[0] ?? {}
    return `body at "${instancePath}" ${message}`
  }
}
