// Validates at startup the headers and errors that the server itself adds to an operation's responses. A response that breaks the
// contract becomes a 500: if the server's own headers did, the operation could respond nothing else.

import { randomUUID } from 'node:crypto'
import { invalidKey, missingKey } from '../auth/authentication.js'
import { defaultErrorStatuses } from '../contract/defaults.js'
import type { Contract, Operation, RateLimits } from '../contract/types.js'
import { ApiError, errorBody, unavailable } from '../errors.js'
import { securityHeaders } from '../http/headers.js'
import { dayMs } from '../rate-limit/windows.js'
import { deprecationHeaders } from './deprecation.js'
import { inUse } from './idempotency.js'
import { type ResponseCheck, ResponseError } from './response-validation.js'

type Headers = Readonly<Record<string, string>>

const rateLimitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
const otherHeaders = [
  ...['x-request-id', 'deprecation', 'sunset', 'link', 'www-authenticate', 'retry-after', 'allow'],
  ...['idempotent-replayed', 'accept-encoding', ...Object.keys(securityHeaders)],
]

/** The problems that the server's own headers and errors would have with an operation: each with the first response that has it. */
export function serverProblems(
  operation: Operation,
  check: ResponseCheck,
  contract: Contract,
): ReadonlyMap<string, string> {
  const problems = new Map(unknownHeaders(operation, contract).map((problem) => [problem, operation.id]))
  const note = (status: number, check: () => void) => {
    const problem = problemOf(check)
    if (problem !== undefined && !problems.has(problem)) problems.set(problem, `${operation.id} ${status}`)
  }
  const { responses } = operation
  const statuses = [...responses.keys()].filter((status) => /^\d{3}$/.test(status)).map(Number)
  for (const common of commonHeaders(operation, contract)) {
    for (const status of statuses) note(status, () => check.head(status, lowerCase(common), 'server'))
    for (const error of serverErrors(operation, contract)) {
      const body = errorBody(error, contract)
      if (!isDeclared(responses, body.status) && !check.takes(body.status, body)) continue
      note(body.status, () => check.head(body.status, lowerCase({ ...common, ...error.headers })))
      note(body.status, () => check.body(body.status, body, contract.errorType))
    }
  }
  return problems
}

// `default` may declare errors other than the server's.
function isDeclared(responses: Operation['responses'], status: number): boolean {
  return responses.has(String(status)) || responses.has(`${String(status)[0]}xx`)
}

function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return `${error.problem}, as the server sends it`
    throw error
  }
}

function unknownHeaders({ responses }: Operation, { hasRateLimits }: Contract): string[] {
  const known = new Set([...otherHeaders, ...(hasRateLimits ? rateLimitHeaders : [])])
  const marked = [...responses.values()].flatMap(({ headers }) =>
    headers.filter(({ setByServer }) => setByServer),
  )
  return marked
    .filter(({ name }) => !known.has(name.toLowerCase()))
    .map(({ name }) => `header ${name} is marked x-set-by-server, but the server does not set it`)
}

// The headers of every response, with the lowest and the highest rate-limit numbers.
function commonHeaders(operation: Operation, contract: Contract): Headers[] {
  const common = {
    ...securityHeaders,
    'x-request-id': randomUUID(),
    ...deprecationHeaders(operation, contract),
  }
  const own = operation.isIdempotent ? { ...common, 'idempotent-replayed': 'true' } : common
  if (!contract.hasRateLimits) return [own]
  const quotas = quotasOf(contract.rateLimits)
  const [least, most] = [Math.min(...quotas), Math.max(...quotas)]
  return [[least, 0] as const, [most, most - 1] as const].map(([limit, remaining]) => ({
    ...own,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000)),
  }))
}

function quotasOf({ plans, anonymous }: RateLimits): number[] {
  const quotas = [...plans.values()].filter((plan) => plan !== 'custom')
  return [anonymous.perMinute, ...quotas.flatMap(({ perMinute, perDay }) => [perMinute, perDay])]
}

// The errors that the server can send for a request of the operation, with their headers. None if the contract does not describe
// errors.
function serverErrors(
  { body, isIdempotent, security, deprecation }: Operation,
  contract: Contract,
): ApiError[] {
  const { title, hasRateLimits, describesErrors, rateLimits } = contract
  if (!describesErrors) return []
  const errors: Record<string, ApiError> = {
    invalid_api_key: invalidKey(title),
    missing_api_key: missingKey(title),
    idempotency_key_in_use: inUse(),
    unavailable: unavailable(undefined),
  }
  const impossible = new Set([
    ...['route_not_found', 'method_not_allowed', 'headers_too_large'],
    ...(body === undefined ? ['invalid_json', 'body_too_large'] : []),
    ...(isIdempotent ? [] : ['idempotency_key_in_use', 'idempotency_key_reused']),
    ...(deprecation?.afterSunset === 'gone' ? [] : ['operation_gone']),
    ...(security.some((each) => each.length > 0) ? [] : ['missing_api_key', 'invalid_api_key']),
    ...(hasRateLimits ? [] : ['rate_limit_exceeded', 'key_banned']),
  ])
  const retryAfter = [1, Math.max(dayMs / 1_000, rateLimits.ban.banSeconds)].map((seconds) => ({
    'Retry-After': String(seconds),
  }))
  const codes = Object.keys(defaultErrorStatuses) as (keyof typeof defaultErrorStatuses)[]
  return codes
    .filter((code) => !impossible.has(code))
    .flatMap((code) => {
      const headers = defaultErrorStatuses[code] === 429 ? retryAfter : [{}]
      return headers.map((each) => errors[code] ?? new ApiError(code, 'Any message.', { headers: each }))
    })
}

function lowerCase(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
