// Validates at startup what the parts of a server add to an operation's responses: headers, and errors with
// their bodies. A response that breaks the contract becomes a 500: if the server's own headers did, the
// operation could respond nothing else.

import type { Contract, Operation, Response } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { ownErrorStatuses } from '../../document/defaults.js'
import { missingCode } from '../../document/error-codes.js'
import { isRange } from '../../document/media-types.js'
import { problemOf } from '../../document/methods.js'
import { type OwnErrorCode, ownError, type RequestError } from '../../document/request-error.js'
import {
  dependsOnAccept,
  errorsAmong,
  refusesUnacceptable,
  successesAmong,
} from '../../document/responses.js'
import { type ErrorFacts, factsOf, statusOf } from '../base/errors.js'
import { deprecationHeaders } from './deprecation.js'
import { hasEntityTags, revalidated } from './entity-tags.js'
import type { ErrorForm, ErrorResponse } from './error-forms.js'
import { byStatus, type ProvedHeaders, type ResponseCheck, ResponseError } from './response-validation.js'

type AddedHeaders = Readonly<Record<string, string>>

/** What a part of a server adds to the responses of operations. */
export interface Addition {
  /** The names of all headers that it sets, sometimes or always, in lower case. */
  readonly headers: readonly string[]
  /**
   * The headers of every response of an operation, by default none: each variant if they differ. They are set before
   * its handler begins, and are judged at startup alone.
   */
  readonly always?: (operation: Operation, contract: Contract) => readonly AddedHeaders[]
  /** The errors it may respond with to a request of an operation, by default none. */
  readonly errors?: (operation: Operation, contract: Contract) => readonly RequestError[]
}

/** What the engine itself adds. */
export const ownAddition: Addition = {
  headers: ['deprecation', 'sunset', 'link', 'accept-encoding', 'etag', 'cache-control', 'vary'],
  always: (operation, contract) => [
    {
      ...deprecationHeaders(operation, contract)?.(anyUrl(contract)),
      ...(hasEntityTags(operation) && { ETag: '"any"', 'Cache-Control': revalidated }),
      ...(dependsOnAccept(operation) && { Vary: 'Accept' }),
    },
  ],
  errors: (operation) => [
    ...(operation.deprecation?.afterSunset === 'gone' ? [anyOwn('operation_gone')] : []),
    ...ofAny.map(anyOwn),
    ...(operation.body === undefined ? [] : ofBody.map(anyOwn)),
    ...(refusesUnacceptable(operation) ? [anyOwn('not_acceptable')] : []),
  ],
}

function anyUrl({ prefix }: Contract): string {
  return `http://localhost${prefix}`
}

const ofAny = [
  'invalid_request',
  'malformed_request',
  'uri_too_long',
  'internal_error',
  'not_implemented',
] as const
const ofBody = ['invalid_json', 'body_too_large', 'request_too_complex', 'unsupported_media_type'] as const

function anyOwn(code: OwnErrorCode): RequestError {
  const violations = [{ in: 'body', pointer: '/name', detail: 'is required' }] as const
  return ownError(code, 'Any message.', code === 'invalid_request' ? { violations } : {})
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
    .map(({ code, statusCode }) => missingCode(code, statusCode))
}

function errorsOf(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly RequestError[] {
  return additions.flatMap(({ errors }) => errors?.(operation, contract) ?? [])
}

/**
 * A warning for the errors of the server that an operation does not declare, once it has a handler.
 * @param additions those of other parts than the engine
 */
export function undeclaredErrors(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly Problem[] {
  const declared = byStatus(operation.responses)
  const all = errorsOf(operation, contract, [ownAddition, ...additions])
  const sent = all.filter(({ code }) => code !== 'not_implemented').map((each) => statusOf(each, contract))
  const undeclared = [...new Set(sent)].filter((status) => (declared(status)?.contents ?? []).length === 0)
  if (undeclared.length === 0) return []
  const statuses = undeclared.sort((a, b) => a - b).join(', ')
  return [
    problemOf(operation, `${operation.id} declares no body for these errors of the server: ${statuses}`),
  ]
}

interface CheckedParts {
  readonly check: ResponseCheck
  readonly form: ErrorForm
  /** The errors of a stub may have a form that nothing makes yet. */
  readonly isImplemented: boolean
}

/** A problem, the response that has it, and that response's key if it is declared. */
type AdditionFault = readonly [problem: string, place: string, key?: string | undefined]

/**
 * The problems that the additions would have with an operation, by their text: each with the first response
 * that has it, and where it is.
 */
export function additionProblems(
  operation: Operation,
  parts: CheckedParts,
  contract: Contract,
  additions: readonly Addition[],
): ReadonlyMap<string, Problem> {
  const variants = variantsOf(operation, contract, additions)
  const found: readonly AdditionFault[] = [
    ...unknownHeaders(operation, additions),
    ...missingHeaders(operation, variants),
    ...headFaults(operation, variants, parts.check),
    ...errorFaults(operation, errorsOf(operation, contract, additions), variants, parts, contract),
  ]
  const problems = new Map<string, Problem>()
  for (const [problem, place, key] of found)
    if (!problems.has(problem)) problems.set(problem, problemIn(operation, `${place}: ${problem}`, key))
  return problems
}

/**
 * The headers of an operation that the additions prove, where `additionProblems` finds none: the engine's own are
 * not in every response.
 * @param additions those of other parts than the engine
 */
export function provedHeaders(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): ProvedHeaders {
  const variants = variantsOf(operation, contract, additions)
  const names = variants.flatMap((each) => Object.keys(each))
  const own = variantsOf(operation, contract, [ownAddition]).flatMap((each) => Object.keys(each))
  const isAlways = (name: string) => variants.every((each) => each[name] !== undefined)
  return {
    always: new Set(names.filter(isAlways)),
    sometimes: new Set([...own, ...names.filter((name) => !isAlways(name))]),
  }
}

function variantsOf(
  operation: Operation,
  contract: Contract,
  additions: readonly Addition[],
): readonly AddedHeaders[] {
  return combined(additions.map(({ always }) => (always?.(operation, contract) ?? [{}]).map(lowerCase)))
}

// Of the headers of each response that the operation declares by its status.
function headFaults(
  { id, responses }: Operation,
  variants: readonly AddedHeaders[],
  check: ResponseCheck,
): AdditionFault[] {
  const statuses = [...responses.keys()].filter((status) => /^\d{3}$/.test(status)).map(Number)
  return variants.flatMap((common) =>
    statuses.flatMap((status) =>
      faultIn(`${id} ${status}`, () => check.head(status, valueIn(common), 'server')),
    ),
  )
}

// Of the body of each error, or else of its headers.
function errorFaults(
  { id, responses }: Operation,
  errors: readonly RequestError[],
  variants: readonly AddedHeaders[],
  { check, form, isImplemented }: CheckedParts,
  contract: Contract,
): AdditionFault[] {
  const declared = byStatus(new Map(errorsAmong(responses).map((each) => [each.status, each])))
  return errors.flatMap((error): AdditionFault[] => {
    const facts = factsOf(error, contract, { requestId: anyRequestId, operation: id })
    const place = `${id} ${facts.status}`
    const response = declared(facts.status)
    const problem = bodyProblem(tryForm(form, facts), response, check)
    if (problem !== undefined)
      return isImplemented ? [[problem, `${place} (${error.code})`, response?.key]] : []
    if (response === undefined) return []
    const own = lowerCase(error.headers)
    return variants.flatMap((common) =>
      faultIn(place, () => check.head(facts.status, valueIn({ ...common, ...own }))),
    )
  })
}

const anyRequestId = '00000000-0000-4000-8000-000000000000'

function tryForm(form: ErrorForm, facts: ErrorFacts): ErrorResponse | Error {
  try {
    return form(facts)
  } catch (error) {
    return error as Error
  }
}

// Of an error in another form than the one that the operation declares.
function bodyProblem(
  sent: ErrorResponse | Error,
  response: Response | undefined,
  check: ResponseCheck,
): string | undefined {
  if (sent instanceof Error) return `errorBody failed: ${sent.message}`
  const { status, body, isDeclared } = sent
  const content = response?.contents.find(({ mediaType }) => !isRange(mediaType))
  if (isDeclared || content === undefined) return undefined
  const fault = check.fault(status, body, content.mediaType)
  const reason = fault?.problem ?? 'its schema has neither code nor message, neither title nor detail'
  return `an error of the server has another form, so errorBody must make it: ${reason}`
}

function problemIn(operation: Operation, text: string, key: string | undefined): Problem {
  const { at } = problemOf(operation, text)
  return { text, at: key === undefined ? at : [...at, 'responses', key] }
}

// The required headers that a successful response lacks: a handler cannot set them, or the server sets them
// in some variants only. An error may be declared, in a shared response, where nothing responds with it.
function missingHeaders(
  { id, responses }: Operation,
  variants: readonly AddedHeaders[],
): [problem: string, place: string][] {
  return successesAmong(responses).flatMap(({ status, headers }) => {
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

function faultIn(place: string, run: () => void): AdditionFault[] {
  try {
    run()
    return []
  } catch (error) {
    if (error instanceof ResponseError) return [[`${error.problem}, as the server sends it`, place]]
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
