// What is wrong with an answer, by the contract and by what every answer owes its caller.

import { isDeepStrictEqual } from 'node:util'
import { parse as parseExact, stringify } from 'lossless-json'
import type { Answer } from './connection.js'
import type { AnswerRule, Contract, HeaderRule, Operation } from './contract.js'
import { forgedHost } from './mutations.js'
import type { Request } from './request.js'

interface Exchange {
  readonly request: Request
  readonly answer: Answer
  readonly contract: Contract
  readonly operation: Operation | undefined
  /** What the operation declares for the answer's status. */
  readonly rule: AnswerRule | undefined
}

/** The first thing that is wrong with the answer to a request, if anything. */
export function checkAnswer(request: Request, answer: Answer, contract: Contract): string | undefined {
  const operation = contract.operations.find(({ id }) => id === request.operation)
  // `/`, however it is written, leads to the page beside the operations.
  if (operation === undefined && answer.status === 302 && answer.headers.get('location') === 'docs') {
    return checkWords(answer)
  }
  const rule = operation && ruleOf(operation, answer.status)
  const exchange = { request, answer, contract, operation, rule }
  return (
    checkStatus(request, answer, contract) ??
    checkWords(answer) ??
    checkBody(exchange) ??
    checkHeaders(exchange) ??
    checkEcho(request, answer)
  )
}

function ruleOf({ answers }: Operation, status: number): AnswerRule | undefined {
  return answers.get(String(status)) ?? answers.get(`${Math.floor(status / 100)}xx`) ?? answers.get('default')
}

function checkStatus(
  { expected, hasKey }: Request,
  { status }: Answer,
  { errorStatuses }: Contract,
): string | undefined {
  // Declared; the run tells how many. An operation that is not written yet takes nothing and refuses nothing.
  if (status === 503 || status === errorStatuses.not_implemented) return undefined
  if (status >= 500) return `${status} is a fault of the service`
  const isRefused = status >= 400
  if (expected === 'refused' && !isRefused) return `${status}, where the request is to be refused`
  // What is asked for may not be there.
  if (expected === 'done' && isRefused && status !== 404)
    return status === 401 && hasKey
      ? 'a valid key is called invalid'
      : `${status}, where nothing is wrong with the request`
  return undefined
}

// Of the machinery behind it, and of hosts that only the caller named.
const internals = [
  /node_modules|\bat \S+ \(|\bat (?:async )?\w+:\/\/|\.[cm]?[jt]s:\d+|\bnode:internal/,
  /\b(?:select|insert|update|delete)\b.{1,80}\b(?:from|into|set|where)\b/is,
  /postgres|sqlstate|relation \\?"|syntax error|\bpg_|redis|\bFST_|\bHPE_|\bERR_[A-Z]|\bE(?:CONN|PIPE|NOENT)/i,
  /\/(?:home|root|tmp|usr|var|app)\/\w/,
]

function checkWords({ headers, body }: Answer): string | undefined {
  const text = `${[...headers].flat().join('\n')}\n${body}`
  const found = internals.map((pattern) => pattern.exec(text)?.[0]).find((each) => each !== undefined)
  if (found !== undefined) return `a word of internals: ${JSON.stringify(found)}`
  return text.includes(forgedHost) ? 'it repeats a forged host' : undefined
}

// Where HTTP itself is broken, no operation was reached.
const socketStatuses = new Set([400, 408, 413, 414, 431])

function checkBody({ request, answer, contract, operation, rule }: Exchange): string | undefined {
  const { status } = answer
  if (rule === undefined) {
    if (status < 400) return `${status} is declared by no operation`
    if (operation !== undefined && !socketStatuses.has(status))
      return `${operation.id} does not declare ${status}`
  }
  if (request.method === 'HEAD') return undefined
  return (rule && checkShape(answer, rule)) ?? (status >= 400 ? checkError(answer, contract) : undefined)
}

function checkShape({ headers, body }: Answer, { bodies }: AnswerRule): string | undefined {
  if (bodies.size === 0) return body.length > 0 ? 'a body where none is declared' : undefined
  const type = headers.get('content-type') ?? ''
  const validate = bodies.get(type.replace(/;.*/, '').trim().toLowerCase())
  if (validate === undefined) return `a body of the undeclared type ${type}`
  try {
    readExact(body)
    return validate(JSON.parse(body.toString()))
  } catch (error) {
    return `a body that is no JSON: ${(error as Error).message}`
  }
}

function checkError({ status, body }: Answer, { error, errorStatuses }: Contract): string | undefined {
  try {
    const value = JSON.parse(body.toString())
    const problem = error(value)
    if (problem !== undefined) return `not the error body: ${problem}`
    if (value.status !== status || errorStatuses[value.code] !== status) {
      return `the code ${value.code} and the status ${value.status} in a ${status}`
    }
    return value.message === '' ? 'an error without a message' : undefined
  } catch {
    return `not the error body: ${JSON.stringify(body.toString().slice(0, 80))}`
  }
}

function checkHeaders(exchange: Exchange): string | undefined {
  const { request, answer, contract, operation, rule } = exchange
  if (!answer.headers.has('x-request-id')) return 'no X-Request-Id'
  if (wasNotRecognised(request, answer)) return undefined
  if (operation?.isDeprecated && !answer.headers.has('deprecation')) return 'no word of the deprecation'
  const isCounted = request.target === contract.prefix || request.target.startsWith(`${contract.prefix}/`)
  const rules = [...(isCounted ? contract.commonHeaders : []), ...(rule?.headers ?? [])]
  return rules.map((each) => checkHeader(each, answer)).find((each) => each !== undefined)
}

// As the contract says: 408, 431 and malformed HTTP.
function wasNotRecognised({ method }: Request, { status, body }: Answer): boolean {
  if (status === 408 || status === 431) return true
  return status === 400 && (method === 'HEAD' || body.includes('"malformed_request"'))
}

function checkHeader({ name, required, validate }: HeaderRule, { headers }: Answer): string | undefined {
  const value = headers.get(name)
  if (value === undefined) return required ? `no ${name}` : undefined
  const problem = validate(value)
  return problem && `${name}: ${JSON.stringify(value)}${problem}`
}

// Whatever was created is what was sent, digit for digit.
function checkEcho({ body: sent }: Request, { status, body }: Answer): string | undefined {
  if (status !== 201 || sent === undefined) return undefined
  const returned = readExact(body)
  const lost = Object.entries(readExact(sent)).find(
    ([name, value]) => !isDeepStrictEqual(returned[name], value),
  )
  return (
    lost && `${lost[0]} was sent as ${stringify(lost[1])} and returned as ${stringify(returned[lost[0]])}`
  )
}

// JSON.parse would round what is beyond 64 bits into them.
function readExact(bytes: Uint8Array): Record<string, unknown> {
  const parseNumber = (digits: string) => {
    if (!/^-?\d+$/.test(digits)) return Number(digits)
    const value = BigInt(digits)
    if (BigInt.asIntN(64, value) !== value) throw new Error(`${digits} has more than 64 bits`)
    return value
  }
  return parseExact(new TextDecoder().decode(bytes), undefined, { parseNumber }) as Record<string, unknown>
}
