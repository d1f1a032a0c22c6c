// The properties of every response: it matches the contract, and reveals no internals.

import { isDeepStrictEqual } from 'node:util'
import { parse as parseExact, stringify } from 'lossless-json'
import type { Response } from './connection.js'
import type { Contract, HeaderRule, Operation, ResponseRule } from './contract.js'
import { forgedHost } from './mutations.js'
import type { Request } from './request.js'

interface Exchange {
  readonly request: Request
  readonly response: Response
  readonly contract: Contract
  readonly operation: Operation | undefined
  /** What the operation declares for the response's status. */
  readonly rule: ResponseRule | undefined
}

/** Returns the first problem of a response, if any. */
export function checkResponse(request: Request, response: Response, contract: Contract): string | undefined {
  const operation = contract.operations.find(({ id }) => id === request.operation)
  // `/`, in any spelling, redirects to the documentation, which is not an operation.
  if (operation === undefined && response.status === 302 && response.headers.get('location') === 'docs') {
    return checkInternals(response)
  }
  const rule = operation && ruleOf(operation, response.status)
  const exchange = { request, response, contract, operation, rule }
  return (
    checkStatus(request, response, contract) ??
    checkInternals(response) ??
    checkBody(exchange) ??
    checkHeaders(exchange) ??
    checkEcho(request, response)
  )
}

function ruleOf({ responses }: Operation, status: number): ResponseRule | undefined {
  return (
    responses.get(String(status)) ??
    responses.get(`${Math.floor(status / 100)}xx`) ??
    responses.get('default')
  )
}

function checkStatus(
  { expected, hasKey }: Request,
  { status }: Response,
  { errorStatuses }: Contract,
): string | undefined {
  // 503 is declared, and the summary counts it. A stub responds with not_implemented to everything.
  if (status === 503 || status === errorStatuses.not_implemented) return undefined
  if (status >= 500) return `${status} is a server error`
  const isError = status >= 400
  if (expected === 'rejected' && !isError) return `${status} for an invalid request`
  // A valid request may ask for something that does not exist.
  if (expected === 'accepted' && isError && status !== 404)
    return status === 401 && hasKey ? '401 for a valid key' : `${status} for a valid request`
  return undefined
}

// Stack traces, SQL, error codes of libraries, and file paths.
const internals = [
  /node_modules|\bat \S+ \(|\bat (?:async )?\w+:\/\/|\.[cm]?[jt]s:\d+|\bnode:internal/,
  /\b(?:select|insert|update|delete)\b.{1,80}\b(?:from|into|set|where)\b/is,
  /postgres|sqlstate|relation \\?"|syntax error|\bpg_|redis|\bFST_|\bHPE_|\bERR_[A-Z]|\bE(?:CONN|PIPE|NOENT)/i,
  /\/(?:home|root|tmp|usr|var|app)\/\w/,
]

function checkInternals({ headers, body }: Response): string | undefined {
  const text = `${[...headers].flat().join('\n')}\n${body}`
  const found = internals.map((pattern) => pattern.exec(text)?.[0]).find((each) => each !== undefined)
  if (found !== undefined) return `reveals internals: ${JSON.stringify(found)}`
  return text.includes(forgedHost) ? 'contains a forged host' : undefined
}

// The HTTP parser may respond with these before the request is routed.
const parserStatuses = new Set([400, 408, 413, 414, 431])

function checkBody({ request, response, contract, operation, rule }: Exchange): string | undefined {
  const { status } = response
  if (rule === undefined) {
    if (status < 400) return `${status} is declared by no operation`
    if (operation !== undefined && !parserStatuses.has(status))
      return `${operation.id} does not declare ${status}`
  }
  if (request.method === 'HEAD') return undefined
  return (rule && checkSchema(response, rule)) ?? (status >= 400 ? checkError(response, contract) : undefined)
}

function checkSchema({ headers, body }: Response, { bodies }: ResponseRule): string | undefined {
  if (bodies.size === 0) return body.length > 0 ? 'a body, but none is declared' : undefined
  const type = headers.get('content-type') ?? ''
  const validate = bodies.get(type.replace(/;.*/, '').trim().toLowerCase())
  if (validate === undefined) return `undeclared media type ${type}`
  try {
    readExact(body)
    return validate(JSON.parse(body.toString()))
  } catch (error) {
    return `invalid JSON: ${(error as Error).message}`
  }
}

function checkError({ status, body }: Response, { error, errorStatuses }: Contract): string | undefined {
  try {
    const value = JSON.parse(body.toString())
    const problem = error(value)
    if (problem !== undefined) return `not an error body: ${problem}`
    if (value.status !== status || errorStatuses[value.code] !== status) {
      return `code ${value.code} and status ${value.status} in a ${status}`
    }
    return value.message === '' ? 'an empty error message' : undefined
  } catch {
    return `not an error body: ${JSON.stringify(body.toString().slice(0, 80))}`
  }
}

function checkHeaders(exchange: Exchange): string | undefined {
  const { request, response, contract, operation, rule } = exchange
  if (!response.headers.has('x-request-id')) return 'no X-Request-Id'
  if (isFromParser(request, response)) return undefined
  if (operation?.isDeprecated && !response.headers.has('deprecation')) return 'no Deprecation header'
  const isRateLimited = request.target === contract.prefix || request.target.startsWith(`${contract.prefix}/`)
  const rules = [...(isRateLimited ? contract.commonHeaders : []), ...(rule?.headers ?? [])]
  return rules.map((each) => checkHeader(each, response)).find((each) => each !== undefined)
}

// The contract excepts 408, 431 and malformed HTTP from its headers.
function isFromParser({ method }: Request, { status, body }: Response): boolean {
  if (status === 408 || status === 431) return true
  return status === 400 && (method === 'HEAD' || body.includes('"malformed_request"'))
}

function checkHeader({ name, required, validate }: HeaderRule, { headers }: Response): string | undefined {
  const value = headers.get(name)
  if (value === undefined) return required ? `no ${name}` : undefined
  const problem = validate(value)
  return problem && `${name}: ${JSON.stringify(value)}${problem}`
}

// A created resource has the fields that were sent, with every digit.
function checkEcho({ body: sent }: Request, { status, body }: Response): string | undefined {
  if (status !== 201 || sent === undefined) return undefined
  const returned = readExact(body)
  const lost = Object.entries(readExact(sent)).find(
    ([name, value]) => !isDeepStrictEqual(returned[name], value),
  )
  return (
    lost && `${lost[0]} was sent as ${stringify(lost[1])} and returned as ${stringify(returned[lost[0]])}`
  )
}

// JSON.parse would round an integer of more than 64 bits to one that fits.
function readExact(bytes: Uint8Array): Record<string, unknown> {
  const parseNumber = (digits: string) => {
    if (!/^-?\d+$/.test(digits)) return Number(digits)
    const value = BigInt(digits)
    if (BigInt.asIntN(64, value) !== value) throw new Error(`${digits} has more than 64 bits`)
    return value
  }
  return parseExact(new TextDecoder().decode(bytes), undefined, { parseNumber }) as Record<string, unknown>
}
