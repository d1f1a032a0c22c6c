// Validates responses against the contract before they are sent: status, declared headers and body. An
// invalid response is a bug in the service: the client gets a 500 without details, and never a body that the
// contract rules out. The log has the operation, the status and the JSON pointer.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Content, Header, Operation } from '../../document/contract.js'
import type { Functions } from '../../document/functions.js'
import { responseContent } from '../../document/media-types.js'
import { contentsOf, errorsAmong } from '../../document/responses.js'
import { isStream, kindOf } from '../../kinds/index.js'
import { because, type ContentFault } from '../../kinds/kind.js'
import { elementsOf } from '../../lib/field-values.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    responseCheck?: ResponseCheck | undefined
  }
}

/**
 * The error of a response that the contract does not declare. Its message names the operation, the status and
 * the JSON pointer.
 */
export class ResponseError extends Error {
  override name = 'ResponseError'

  constructor(
    place: string,
    readonly problem: string,
    options?: ErrorOptions,
    /** The errors of the body's schema. */
    readonly errors: readonly ErrorObject[] = [],
  ) {
    super(`${place}: ${problem}`, options)
  }
}

/**
 * Returns the value of a response header, by its name in lower case; undefined if the header is not sent.
 * Node also accepts a number, and sends it as text.
 */
type HeaderValueOf = (name: string) => unknown

/** Validates the responses of one operation. */
export interface ResponseCheck {
  /** @throws {ResponseError} if the status is not declared, or a declared header is missing or wrong */
  head(status: number, headerOf: HeaderValueOf): void
  /**
   * Returns the faults of the headers of a status.
   * @param of `server` if only some headers are set, so that others may be missing
   */
  headFaults(status: number, headerOf: HeaderValueOf, of: 'server' | 'all'): readonly string[]
  /** Creates a `head` for responses to which the server adds headers by itself. */
  headBeside(proved: ProvedHeaders): HeadBeside
  /**
   * Returns the fault of a body, by the status and by the `Content-Type` if one is given; undefined if the
   * contract declares the body.
   */
  fault(status: number, body: unknown, contentType?: string): ContentFault | undefined
  /**
   * Returns the check of a content's bodies.
   * @param content must be of a response of the operation
   */
  bodyFault(content: Content): BodyFault
  /**
   * Returns the check of the items of a stream.
   * @param content must be of a response of the operation
   */
  itemFault(content: Content): ItemFault
}

/**
 * The names of headers that the server adds, and whose values were judged before it listened. They are not
 * judged again, unless a response sets its own value.
 */
export interface ProvedHeaders {
  /** The headers that every response of a status has. */
  readonly alwaysIn: (status: string) => readonly string[]
  readonly sometimes: ReadonlySet<string>
}

/**
 * @param own the headers of the response, by their names in lower case
 * @param addedOf returns a header that the server has added
 */
export type HeadBeside = (
  status: number,
  own: Readonly<Record<string, unknown>>,
  addedOf: HeaderValueOf,
) => void

/**
 * Returns the JSON Pointer of the fault in an item, and the problem; undefined if the contract allows the
 * item.
 */
export type ItemFault = (item: unknown) => { readonly at: string; readonly problem: string } | undefined

/** Returns a function that looks up a status: by itself, by its range (`4xx`), or as `default`. */
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
 * Returns a function that creates the check of an operation. Operations share their compiled schemas. An
 * operation without a handler sends only errors, whose schemas are compiled when the first error is sent.
 */
export function createResponseChecks(
  functions: Pick<Functions, 'judge'>,
): (operation: Pick<Operation, 'id' | 'responses'>, isImplemented: boolean) => ResponseCheck {
  const { judge } = functions
  return ({ id, responses }, isImplemented) => {
    const errors = errorsAmong(responses)
    const judgeBody = isImplemented ? judge : whenUsed(judge)
    const bodyFaults = new Map(
      [...responses.values()].flatMap((response) => {
        const isSent = isImplemented || errors.includes(response)
        return response.contents.map((each) => [each, contentCheck(judgeBody, each, isSent)] as const)
      }),
    )
    const checks = [...responses.values()].map((response): [string, StatusCheck] => {
      const { status, headers, contents } = response
      const headerProblems = headers.map((header) => {
        const { name, required } = header
        return { key: name.toLowerCase(), required, problemOf: headerCheck(judge, header) }
      })
      return [status, { headerProblems, bodyFault: bodyCheck(contents, bodyFaults) }]
    })
    const contents = isImplemented ? contentsOf(responses.values()) : []
    const itemFaults = new Map(contents.filter(isStream).map((each) => [each, itemCheck(judge, each)]))
    return responseCheck(id, new Map(checks), bodyFaults, itemFaults)
  }
}

interface HeaderCheck {
  readonly key: string
  readonly required: boolean
  readonly problemOf: (value: unknown) => string | undefined
}

interface StatusCheck {
  readonly headerProblems: readonly HeaderCheck[]
  readonly bodyFault: (body: unknown, contentType?: string) => ContentFault | undefined
}

type BodyFault = (body: unknown) => ContentFault | undefined
type BodyFaults = ReadonlyMap<Content, BodyFault>

function responseCheck(
  id: string,
  all: ReadonlyMap<string, StatusCheck>,
  bodyFaults: BodyFaults,
  itemFaults: ReadonlyMap<Content, ItemFault>,
): ResponseCheck {
  const declared = byStatus(all)
  const fail = (status: number, problem: string) => {
    throw new ResponseError(`${id} ${status}`, problem)
  }
  const checksOf = (status: number) => declared(status) ?? fail(status, 'the status is not declared')
  return {
    head(status, headerOf) {
      for (const { key, problemOf } of checksOf(status).headerProblems) {
        const problem = problemOf(headerOf(key))
        if (problem !== undefined) fail(status, `header ${problem}`)
      }
    },
    headFaults(status, headerOf, of) {
      return checksOf(status).headerProblems.flatMap(({ key, problemOf }) => {
        const value = headerOf(key)
        const problem = of === 'server' && value === undefined ? undefined : problemOf(value)
        return problem === undefined ? [] : [`header ${problem}`]
      })
    },
    headBeside(proved) {
      const checksOf = byStatus(
        new Map(
          [...all].map(([status, { headerProblems }]) => {
            return [status, headerProblems.map((each) => besideCheck(each, status, proved))]
          }),
        ),
      )
      return (status, own, addedOf) => {
        const checks = checksOf(status) ?? fail(status, 'the status is not declared')
        for (const { key, problemOf, isAsked, isProved } of checks) {
          const given = own[key]
          if (given === undefined && !isAsked) continue
          const value = given ?? addedOf(key)
          if (given === undefined && value !== undefined && isProved) continue
          const problem = problemOf(value)
          if (problem !== undefined) fail(status, `header ${problem}`)
        }
      }
    },
    fault: (status, body, contentType) => {
      const checks = declared(status)
      return checks === undefined
        ? because('the status is not declared')
        : checks.bodyFault(body, contentType)
    },
    bodyFault: (content) => bodyFaults.get(content) ?? (() => because('the body is none of the operation')),
    itemFault: (content) => itemFaults.get(content) ?? (() => ({ at: '', problem: 'cannot be checked' })),
  }
}

interface BesideCheck extends HeaderCheck {
  /** True if the value that the server has added matters. */
  readonly isAsked: boolean
  readonly isProved: boolean
}

// In a range of statuses, nothing is proved: the exact status was not known at startup.
function besideCheck(header: HeaderCheck, status: string, proved: ProvedHeaders): BesideCheck {
  const { key, required } = header
  const isAlways = proved.alwaysIn(status).includes(key)
  const isExact = /^\d{3}$/.test(status)
  const isProved = isExact && (isAlways || proved.sometimes.has(key))
  return { ...header, isProved, isAsked: !isProved || (required && !isAlways) }
}

type Judge = Functions['judge']

// A schema that does not compile accepts no value; `mount` reports it once the operation has a handler.
function whenUsed(judge: Judge): Judge {
  return (name) => {
    let validate: ValidateFunction | undefined
    const used = ((value) => {
      validate ??= unlessFaulty(() => judge(name))
      const isValid = validate(value)
      used.errors = validate.errors ?? null
      return isValid
    }) as ValidateFunction // has the parts that are used of the type
    return used
  }
}

function unlessFaulty(compile: () => ValidateFunction): ValidateFunction {
  try {
    return compile()
  } catch {
    return (() => false) as unknown as ValidateFunction
  }
}

function headerCheck(
  judgeBy: Judge,
  { name, required, schema, judge = '' }: Header,
): (value: unknown) => string | undefined {
  const validate = judgeBy(judge)
  const isList = [schema.type].flat().includes('array')
  // Most headers have the same value each time.
  let lastValid: unknown
  return (value) => {
    if (value === undefined) return required ? `${name} is missing` : undefined
    if (value === lastValid) return undefined
    // The style of headers is `simple` (OpenAPI 3.1, section 4.8.12.6).
    const sent = typeof value === 'number' ? String(value) : value
    if (!validate({ value: isList ? elementsOf(String(value)) : sent }))
      return `${name} ${validate.errors?.[0]?.message}`
    lastValid = value
    return undefined
  }
}

function bodyCheck(
  contents: readonly Content[],
  bodyFaults: BodyFaults,
): (body: unknown, contentType?: string) => ContentFault | undefined {
  const none = because('no body is declared')
  if (contents.length === 0) return (body) => (body === undefined ? undefined : none)
  return (body, contentType) => {
    const content = responseContent(contents, contentType)
    if (content !== undefined) return bodyFaults.get(content)?.(body)
    return because(
      contentType === undefined ? 'Content-Type is missing' : `Content-Type ${contentType} is not declared`,
    )
  }
}

// The schema of a content that is never sent is not compiled.
function contentCheck(judgeBy: Judge, content: Content, isSent: boolean): BodyFault {
  const { schema, judge = '' } = content
  const isJudged = isSent && schema !== undefined && !isStream(content)
  const validate = isJudged ? judgeBy(judge) : undefined
  return kindOf(content).sent?.check(validate) ?? (() => because('the body is only received'))
}

function itemCheck(judgeBy: Judge, { judge = '' }: Content): ItemFault {
  const validate = judgeBy(judge)
  return (item) => {
    if (validate(item)) return undefined
    const { instancePath: at = '', message: problem = 'cannot be checked' } = validate.errors?.[0] ?? {}
    return { at, problem }
  }
}
