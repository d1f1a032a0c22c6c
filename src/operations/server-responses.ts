// What the server answers by itself, held to the contract before the first request: an answer that breaks the contract is a masked
// 500, and of an operation whose every answer breaks it nothing else would ever be seen.

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

/** What the server itself would break of what an operation declares: each problem, with the first answer that has it. */
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
    for (const error of ownErrors(operation, contract)) {
      const body = errorBody(error, contract)
      if (!isOwnOf(responses, body.status) && !check.takes(body.status, body)) continue
      note(body.status, () => check.head(body.status, lowerCase({ ...common, ...error.headers })))
      note(body.status, () => check.body(body.status, body, contract.errorType))
    }
  }
  return problems
}

// By `default`, a contract may say something else of errors than the server's.
function isOwnOf(responses: Operation['responses'], status: number): boolean {
  return responses.has(String(status)) || responses.has(`${String(status)[0]}xx`)
}

function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return `${error.problem}, as the server answers it`
    throw error
  }
}

function unknownHeaders({ responses }: Operation, { isMetered }: Contract): string[] {
  const known = new Set([...otherHeaders, ...(isMetered ? rateLimitHeaders : [])])
  const marked = [...responses.values()].flatMap(({ headers }) =>
    headers.filter(({ setByServer }) => setByServer),
  )
  return marked
    .filter(({ name }) => !known.has(name.toLowerCase()))
    .map(({ name }) => `header ${name} is marked x-set-by-server, but the server does not set it`)
}

// On every answer, with the least and the greatest of the numbers.
function commonHeaders(operation: Operation, contract: Contract): Headers[] {
  const common = {
    ...securityHeaders,
    'x-request-id': randomUUID(),
    ...deprecationHeaders(operation, contract),
  }
  const own = operation.isIdempotent ? { ...common, 'idempotent-replayed': 'true' } : common
  if (!contract.isMetered) return [own]
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

// Of requests that have come as far as the operation, with the headers that go with each. A contract that does not describe them is
// not broken by them.
function ownErrors({ body, isIdempotent, security }: Operation, contract: Contract): ApiError[] {
  const { title, isMetered, describesErrors, rateLimits } = contract
  if (!describesErrors) return []
  const errors: Record<string, ApiError> = {
    invalid_api_key: invalidKey(title),
    missing_api_key: missingKey(title),
    idempotency_key_in_use: inUse(),
    unavailable: unavailable(undefined),
  }
  const left = new Set([
    ...['route_not_found', 'method_not_allowed', 'headers_too_large'],
    ...(body === undefined ? ['invalid_json', 'body_too_large'] : []),
    ...(isIdempotent ? [] : ['idempotency_key_in_use', 'idempotency_key_reused']),
    ...(security.some((each) => each.length > 0) ? [] : ['missing_api_key', 'invalid_api_key']),
    ...(isMetered ? [] : ['rate_limit_exceeded', 'key_banned']),
  ])
  const waits = [1, Math.max(dayMs / 1_000, rateLimits.ban.banSeconds)].map((seconds) => ({
    'Retry-After': String(seconds),
  }))
  const codes = Object.keys(defaultErrorStatuses) as (keyof typeof defaultErrorStatuses)[]
  return codes
    .filter((code) => !left.has(code))
    .flatMap((code) => {
      const headers = defaultErrorStatuses[code] === 429 ? waits : [{}]
      return headers.map((each) => errors[code] ?? new ApiError(code, 'What is wrong.', { headers: each }))
    })
}

function lowerCase(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
