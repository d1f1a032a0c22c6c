// Validates at startup what the parts of a server add to an operation's responses: headers, and errors. A
// response that breaks the contract becomes a 500: if the server's own headers did, the operation could
// respond nothing else.

import type { Contract, Operation } from '../contract/contract.js'
import type { Problem } from '../contract/contract-error.js'
import { ownErrorStatuses } from '../contract/defaults.js'
import { missingCode } from '../contract/extensions.js'
import { errorBody, type OwnErrorCode, ownError, type RequestError } from '../errors.js'
import { deprecationHeaders } from './deprecation.js'
import { hasEntityTags, revalidated } from './entity-tags.js'
import { type ResponseCheck, ResponseError } from './response-validation.js'

type AddedHeaders = Readonly<Record<string, string>>

/** What a part of a server adds to the responses of operations. */
export interface Addition {
  /** The names of all headers that it sets, sometimes or always, in lower case. */
  readonly headers: readonly string[]
  /** The headers of every response of an operation, by default none: each variant if they differ. */
  readonly always?: (operation: Operation, contract: Contract) => readonly AddedHeaders[]
  /** The errors it may respond with to a request of an operation, by default none. */
  readonly errors?: (operation: Operation, contract: Contract) => readonly RequestError[]
}

/** What the engine itself adds. */
export const ownAddition: Addition = {
  headers: ['deprecation', 'sunset', 'link', 'accept-encoding', 'etag', 'cache-control'],
  always: (operation, contract) => [
    {
      ...deprecationHeaders(operation, contract)?.(anyUrl(contract)),
      ...(hasEntityTags(operation) && { ETag: '"any"', 'Cache-Control': revalidated }),
    },
  ],
  errors: ({ body, deprecation }) => [
    ...(deprecation?.afterSunset === 'gone' ? [anyOwn('operation_gone')] : []),
    ...ofAny.map(anyOwn),
    ...(body === undefined ? [] : [anyOwn('invalid_json'), anyOwn('body_too_large')]),
  ],
}

function anyUrl({ prefix }: Contract): string {
  return `http://localhost${prefix}`
}

const ofAny = [
  'invalid_request',
  'malformed_request',
  'uri_too_long',
  'unsupported_media_type',
  'internal_error',
  'not_implemented',
] as const

function anyOwn(code: OwnErrorCode): RequestError {
  return ownError(code, 'Any message.')
}

/** The errors that a server sends by itself: the status of each code. */
export function serverErrors(
  contract: Contract,
  additions: readonly Addition[],
): ReadonlyMap<string, number> {
  const errors = [...contract.operations.values()].flatMap((each) => errorsOf(each, contract, additions))
  return new Map([
    ...Object.entries(ownErrorStatuses),
    ...errors.map(({ code, statusCode }) => [code, statusCode] as const),
  ])
}

/** A problem for each error of an addition whose code the contract's `ErrorCode` does not have. */
export function missingCodes(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly Problem[] {
  if (!contract.describesErrors) return []
  return errorsOf(operation, contract, additions)
    .filter(({ code }) => !contract.errorStatuses.has(code))
    .map(({ code }) => missingCode(code))
}

function errorsOf(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly RequestError[] {
  return additions.flatMap(({ errors }) => errors?.(operation, contract) ?? [])
}

/** The problems that the additions would have with an operation: each with the first response that has it. */
export function additionProblems(
  operation: Operation,
  check: ResponseCheck,
  contract: Contract,
  additions: readonly Addition[],
): ReadonlyMap<string, string> {
  const variants = combined(
    additions.map(({ always }) => (always?.(operation, contract) ?? [{}]).map(lowerCase)),
  )
  const problems = new Map([...unknownHeaders(operation, additions), ...missingHeaders(operation, variants)])
  const note = (status: number, run: () => void) => {
    const problem = faultFoundBy(run)
    if (problem !== undefined && !problems.has(problem)) problems.set(problem, `${operation.id} ${status}`)
  }
  const statuses = [...operation.responses.keys()].filter((status) => /^\d{3}$/.test(status)).map(Number)
  // Without a description of errors in the contract, they are sent as they are.
  const errors = contract.describesErrors ? errorsOf(operation, contract, additions) : []
  for (const common of variants) {
    for (const status of statuses) note(status, () => check.head(status, valueIn(common), 'server'))
    for (const error of errors) {
      const body = errorBody(error, contract)
      if (!namesStatus(operation.responses, body.status) && !check.takes(body.status, body)) continue
      note(body.status, () => check.head(body.status, valueIn({ ...common, ...lowerCase(error.headers) })))
      note(body.status, () => check.body(body.status, body, contract.errorType))
    }
  }
  return problems
}

// The required headers that a successful response lacks: a handler cannot set them, or the server sets them
// in some variants only. An error may be declared, in a shared response, where nothing responds with it.
function missingHeaders(
  { id, responses }: Operation,
  variants: readonly AddedHeaders[],
): [problem: string, place: string][] {
  const isSuccess = (status: string) => /^[23]/.test(status)
  const hasSuccess = [...responses.keys()].some(isSuccess)
  const isOfSuccess = (status: string) => isSuccess(status) || (status === 'default' && !hasSuccess)
  const declared = [...responses.values()].filter(({ status }) => isOfSuccess(status))
  return declared.flatMap(({ status, headers }) => {
    const missing = headers.filter(({ name, required, setByServer }) => {
      const having = variants.filter((each) => each[name.toLowerCase()] !== undefined).length
      return required && having < variants.length && (setByServer || having > 0)
    })
    return missing.map(({ name }): [string, string] => [
      `header ${name} is missing, as the server sends it`,
      `${id} ${status}`,
    ])
  })
}

// `default` may declare errors other than the server's.
function namesStatus(responses: Operation['responses'], status: number): boolean {
  return responses.has(String(status)) || responses.has(`${String(status)[0]}xx`)
}

function faultFoundBy(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return `${error.problem}, as the server sends it`
    throw error
  }
}

function unknownHeaders({ id, responses }: Operation, additions: readonly Addition[]): [string, string][] {
  const known = new Set(additions.flatMap(({ headers }) => headers))
  return [...responses.values()]
    .flatMap(({ headers }) => headers)
    .filter(({ name, setByServer }) => setByServer && !known.has(name.toLowerCase()))
    .map(({ name }) => [`header ${name} is marked x-set-by-server, but the server does not set it`, id])
}

// Every combination of one variant of each.
function combined(variants: readonly (readonly AddedHeaders[])[]): AddedHeaders[] {
  return variants.reduce<AddedHeaders[]>(
    (all, some) => all.flatMap((one) => some.map((other) => ({ ...one, ...other }))),
    [{}],
  )
}

function valueIn(headers: AddedHeaders): (name: string) => unknown {
  return (name) => headers[name]
}

function lowerCase(headers: AddedHeaders): AddedHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
