// Validates at startup what the parts of a server add to an operation's responses: headers, and errors with
// their bodies. A response that breaks the contract becomes a 500, so an operation for which the server's own
// headers did so could respond with nothing else.

import type { Contract, Operation, Response } from '../document/contract.js'
import { missingCode, type Problem } from '../document/contract-error.js'
import { isRange } from '../document/media-types.js'
import { problemOf } from '../document/methods.js'
import type { RequestError } from '../document/request-error.js'
import { errorsAmong, successesAmong } from '../document/responses.js'
import { type ErrorFacts, factsOf } from '../serve/request/errors.js'
import {
  type AddedHeaders,
  type Addition,
  errorsOf,
  lowerCase,
  variantsOf,
} from '../serve/response/additions.js'
import type { ErrorForm, ErrorResponse } from '../serve/response/error-forms.js'
import { byStatus, type ResponseCheck } from '../serve/response/response-validation.js'

/** Returns a problem for each error of an addition whose code the contract's `ErrorCode` lacks. */
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

interface CheckedParts {
  readonly check: ResponseCheck
  readonly form: ErrorForm
  /** False for a stub, whose errors may have a form that nothing makes yet. */
  readonly isImplemented: boolean
}

/** A problem, and the response in which it occurs. */
export interface AdditionFault {
  readonly problem: string
  /** The operation and status, in words. */
  readonly place: string
  /** The key of the response, if it is declared. */
  readonly key?: string | undefined
  /** Set if one correction solves the problem at all its places. */
  readonly isOne?: true
}

/** Returns the problems that the additions cause in an operation, one for each response. */
export function additionFaults(
  operation: Operation,
  parts: CheckedParts,
  contract: Contract,
  additions: readonly Addition[],
): readonly AdditionFault[] {
  const variants = variantsOf(operation, contract, additions)
  return [
    ...unknownHeaders(operation, additions),
    ...missingHeaders(operation, variants),
    ...headFaults(operation, variants, parts.check),
    ...errorFaults(operation, errorsOf(operation, contract, additions), variants, parts, contract),
  ]
}

// Finds problems of headers, in each response that the operation declares by its exact status.
function headFaults(
  { id, responses }: Operation,
  variants: readonly AddedHeaders[],
  check: ResponseCheck,
): AdditionFault[] {
  const exact = [...responses.values()].filter(({ status }) => /^\d{3}$/.test(status))
  return variants.flatMap((common) =>
    exact.flatMap(({ status, key }) =>
      asSent(`${id} ${status}`, check.headFaults(Number(status), valueIn(common), 'server'), key),
    ),
  )
}

// Finds problems in the body of each error, or else in its headers.
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
    // Errors of a stub are ignored: a contract must not be refused while its handlers are still to be
    // written.
    if (!isImplemented) return []
    if (problem !== undefined)
      return [{ problem, place: `${place} (${error.code})`, key: response?.key, isOne: true }]
    if (response === undefined) return []
    const own = lowerCase(error.headers)
    return variants.flatMap((common) =>
      asSent(place, check.headFaults(facts.status, valueIn({ ...common, ...own }), 'all'), response.key),
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

// Returns the problem of an error whose form differs from the one that the operation declares.
function bodyProblem(
  sent: ErrorResponse | Error,
  response: Response | undefined,
  check: ResponseCheck,
): string | undefined {
  if (sent instanceof Error) return `errorBody failed: ${sent.message}`
  const { status, body, isDeclared, fault: nearest } = sent
  const content = response?.contents.find(({ mediaType }) => !isRange(mediaType))
  if (isDeclared || content === undefined) return undefined
  const fault = nearest ?? check.fault(status, body, content.mediaType)
  const reason = fault?.problem ?? 'its schema has neither code nor message, neither title nor detail'
  return `an error of the server has another form, so errorBody must make it: ${reason}`
}

/** Returns the first place of a fault. */
export function placeOf(operation: Operation, { problem, key }: AdditionFault): Problem['at'] {
  const { at } = problemOf(operation, problem)
  return key === undefined ? at : [...at, 'responses', key]
}

// Finds required headers that a successful response lacks: those that a handler cannot set, and those that
// the server sets in some variants only. Errors are left out, because a shared error may be declared where
// nothing sends it.
function missingHeaders({ id, responses }: Operation, variants: readonly AddedHeaders[]): AdditionFault[] {
  return successesAmong(responses).flatMap(({ status, key, headers }) => {
    const missing = headers.filter(({ name, required, setByServer }) => {
      const having = variants.filter((each) => each[name.toLowerCase()] !== undefined).length
      return required && having < variants.length && (setByServer || having > 0)
    })
    return missing.flatMap(({ name }) => asSent(`${id} ${status}`, [`header ${name} is missing`], key))
  })
}

function asSent(place: string, faults: readonly string[], key?: string): AdditionFault[] {
  return faults.map((fault) => {
    const way = fault.endsWith(' is missing') ? `: ${wayOut}` : ''
    return { problem: `${fault}, as the server sends it${way}`, place, key }
  })
}

const wayOut = 'let nothing require it there, or an addition set it'

function unknownHeaders({ id, responses }: Operation, additions: readonly Addition[]): AdditionFault[] {
  const known = new Set(additions.flatMap(({ headers }) => headers))
  return [...responses.values()]
    .flatMap(({ headers }) => headers)
    .filter(({ name, setByServer }) => setByServer && !known.has(name.toLowerCase()))
    .map(({ name }) => {
      const problem = `header ${name} is marked x-set-by-server, but the server does not set it`
      return { problem, place: id }
    })
}

function valueIn(headers: AddedHeaders): (name: string) => unknown {
  return (name) => headers[name]
}
