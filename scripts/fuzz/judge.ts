// What is wrong with an answer, by the contract and by what every answer owes its caller.

import { parse as parseExact } from 'lossless-json'
import type { Answer } from './connection.js'
import type { AnswerRule, Contract, HeaderRule, Operation } from './contract.js'
import type { Request } from './request.js'
import { forgedHost } from './twists.js'

/** The first thing that is wrong with the answer to a request, if anything. */
export function judge(request: Request, answer: Answer, contract: Contract): string | undefined {
  const operation = contract.operations.find(({ id }) => id === request.operation)
  // `/`, however it is written, leads to the page beside the operations.
  if (operation === undefined && answer.status === 302 && answer.headers.get('location') === 'docs') {
    return judgeWords(answer)
  }
  return (
    judgeStatus(request, answer) ??
    judgeWords(answer) ??
    judgeShape(request, answer, operation, contract) ??
    judgeHeaders(request, answer, operation, contract) ??
    judgeEcho(request, answer)
  )
}

function judgeStatus({ expected, hasKey }: Request, { status }: Answer): string | undefined {
  if (status === 503) return undefined // declared; the run tells how many
  if (status >= 500) return `${status} is a fault of the service`
  const isRefused = status >= 400
  if (expected === 'refused' && !isRefused) return `${status}, where the request is to be refused`
  // What is asked for may not be there.
  if (expected === 'done' && isRefused && status !== 404)
    return `${status}, where nothing is wrong with the request`
  if (expected === 'done' && hasKey && status === 401) return 'a valid key is called invalid'
  return undefined
}

// Of the machinery behind it, and of hosts that only the caller named.
const internals = [
  /node_modules|\bat \S+ \(|\bat (?:async )?\w+:\/\/|\.[cm]?[jt]s:\d+|\bnode:internal/,
  /\b(?:select|insert|update|delete)\b.{1,80}\b(?:from|into|set|where)\b/is,
  /postgres|sqlstate|relation \\?"|syntax error|\bpg_|redis|\bFST_|\bHPE_|\bERR_[A-Z]|\bE(?:CONN|PIPE|NOENT)/i,
  /\/(?:home|root|tmp|usr|var|app)\/\w/,
]

function judgeWords({ headers, body }: Answer): string | undefined {
  const text = `${[...headers].flat().join('\n')}\n${body}`
  const found = internals.map((pattern) => pattern.exec(text)?.[0]).find((each) => each !== undefined)
  if (found !== undefined) return `a word of internals: ${JSON.stringify(found)}`
  return text.includes(forgedHost) ? 'it repeats a forged host' : undefined
}

function judgeShape(
  request: Request,
  answer: Answer,
  operation: Operation | undefined,
  contract: Contract,
): string | undefined {
  const rule = operation && ruleOf(operation, answer.status)
  if (rule === undefined) {
    if (answer.status < 400) return `${answer.status} is declared by no operation`
    const isStray = operation === undefined || socketStatuses.has(answer.status)
    return isStray
      ? judgeError(request, answer, contract)
      : `${operation.id} does not declare ${answer.status}`
  }
  return (
    judgeBody(request, answer, rule) ??
    (answer.status >= 400 ? judgeError(request, answer, contract) : undefined)
  )
}

// Where HTTP itself is broken, no operation was reached.
const socketStatuses = new Set([400, 408, 413, 414, 431])

function ruleOf({ answers }: Operation, status: number): AnswerRule | undefined {
  return answers.get(String(status)) ?? answers.get(`${Math.floor(status / 100)}xx`) ?? answers.get('default')
}

function judgeBody(
  { method }: Request,
  { headers, body }: Answer,
  { bodies }: AnswerRule,
): string | undefined {
  if (method === 'HEAD') return undefined
  if (bodies.size === 0) return body.length > 0 ? 'a body where none is declared' : undefined
  const type = headers.get('content-type') ?? ''
  const check = bodies.get(type.replace(/;.*/, '').trim().toLowerCase())
  if (check === undefined) return `a body of the undeclared type ${type}`
  try {
    parseExact(body.toString(), undefined, { parseNumber: exactNumber })
    return check(JSON.parse(body.toString()))
  } catch (error) {
    return `a body that is no JSON: ${(error as Error).message}`
  }
}

// JSON.parse would round what is beyond 64 bits into them.
function exactNumber(digits: string): number | bigint {
  if (!/^-?\d+$/.test(digits)) return Number(digits)
  const value = BigInt(digits)
  if (BigInt.asIntN(64, value) !== value) throw new Error(`${digits} has more than 64 bits`)
  return value
}

function judgeError(
  { method }: Request,
  { status, body }: Answer,
  { error, errorStatuses }: Contract,
): string | undefined {
  if (method === 'HEAD') return undefined
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

function judgeHeaders(
  request: Request,
  answer: Answer,
  operation: Operation | undefined,
  contract: Contract,
): string | undefined {
  const { target } = request
  const isMetered = target === contract.prefix || target.startsWith(`${contract.prefix}/`)
  const isUnrecognised = wasNotRecognised(request, answer)
  const common = isMetered && !isUnrecognised ? contract.commonHeaders : []
  const declared =
    operation === undefined || isUnrecognised ? [] : (ruleOf(operation, answer.status)?.headers ?? [])
  const problem = [...common, ...declared]
    .map((rule) => judgeHeader(rule, answer))
    .find((each) => each !== undefined)
  if (problem !== undefined) return problem
  if (operation?.isDeprecated && !isUnrecognised && !answer.headers.has('deprecation'))
    return 'no word of the deprecation'
  return answer.headers.has('x-request-id') ? undefined : 'no X-Request-Id'
}

// As the contract says: 408, 431 and malformed HTTP.
function wasNotRecognised({ method }: Request, { status, body }: Answer): boolean {
  if (status === 408 || status === 431) return true
  return status === 400 && (method === 'HEAD' || body.includes('"malformed_request"'))
}

function judgeHeader({ name, required, check }: HeaderRule, { headers }: Answer): string | undefined {
  const value = headers.get(name)
  if (value === undefined) return required ? `no ${name}` : undefined
  const problem = check(value)
  return problem && `${name}: ${JSON.stringify(value)}${problem}`
}

// Whatever was created is what was sent, digit for digit.
function judgeEcho({ body: sent }: Request, { status, body }: Answer): string | undefined {
  if (status !== 201 || sent === undefined) return undefined
  const given = read(sent)
  const returned = read(body)
  const lost = Object.entries(given).find(([name, value]) => returned[name] !== value)
  return lost && `${lost[0]} was sent as ${String(lost[1])} and returned as ${String(returned[lost[0]])}`
}

function read(bytes: Uint8Array): Record<string, unknown> {
  const text = new TextDecoder().decode(bytes)
  return parseExact(text, undefined, {
    parseNumber: (digits) => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits)),
  }) as Record<string, unknown>
}
