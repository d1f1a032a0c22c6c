// The bodies of errors, in the form that the contract declares for them: { code, message, status }, a
// problem (RFC 9457), or what a function of the application makes. Clients would otherwise get bodies that
// the contract does not declare. The rule, for a response of an operation: its media types in their order,
// and the first form that says something there and is valid. Where nothing is declared, the form of most
// errors of the document; if it has none, { code, message, status }.

import { stringify } from 'lossless-json'
import type { Content, Contract, Operation, Response } from '../../document/contract.js'
import { type AnySchema, schemasOfValue } from '../../document/keywords.js'
import { essence, isJson, isRange } from '../../document/media-types.js'
import { Reader } from '../../document/reader.js'
import { errorsAmong } from '../../document/responses.js'
import { kindOf } from '../../kinds/index.js'
import type { ContentFault } from '../../kinds/kind.js'
import type { ErrorFacts } from '../request/errors.js'
import { type Fit, problemDetails } from './problem-details.js'
import { byStatus, createResponseChecks, type ResponseCheck } from './response-validation.js'

/** The response of an error. */
export interface ErrorResponse {
  readonly status: number
  /** The media type, without parameters. */
  readonly type: string
  readonly body: unknown
  /** True if the contract declares this response. */
  readonly isDeclared: boolean
  /** If the contract does not declare it: the fault of the body that comes nearest to the declaration. */
  readonly fault?: ContentFault | undefined
}

/** Makes the response of an error. */
export type ErrorForm = (facts: ErrorFacts) => ErrorResponse

/**
 * Makes the body of an error in the application's own form, if the contract has neither of the engine's
 * forms: text for a text type, otherwise a value. For undefined, the engine makes the body.
 */
export type ErrorBodyOf<Body = unknown> = (facts: ErrorFacts) => Body | undefined

/** Returns the body of an error as text. */
export function errorText({ type, body }: ErrorResponse): string {
  return isJson(type) ? String(stringify(body)) : String(body)
}

/** Returns the response for an error that has no other form. */
export function plainError(facts: ErrorFacts): ErrorResponse {
  return { status: facts.status, type: 'application/json', body: plainBody(facts), isDeclared: false }
}

function plainBody({ code, message, status }: ErrorFacts): object {
  return { code, message, status }
}

/** The error forms of a document. */
export interface ErrorForms {
  /** Returns the form of an operation's errors. */
  of(operation: Operation, check: ResponseCheck): ErrorForm
  /** The form of errors that belong to no operation, such as that of an unknown path. */
  readonly ofDocument: ErrorForm
}

// The forms of each contract, by the application's function. The error handlers of requests and of
// connections share them with `mount`, and so share their compiled validators.
const formsOf = new WeakMap<Contract, Map<ErrorBodyOf | undefined, ErrorForms>>()

/** Returns the error forms of a contract. */
export function errorForms(contract: Contract, own?: ErrorBodyOf): ErrorForms {
  const byOwn = formsOf.get(contract) ?? new Map<ErrorBodyOf | undefined, ErrorForms>()
  formsOf.set(contract, byOwn)
  const forms = byOwn.get(own) ?? createErrorForms(contract, own)
  byOwn.set(own, forms)
  return forms
}

function createErrorForms(contract: Contract, own: ErrorBodyOf | undefined): ErrorForms {
  const namesIn = createNamesIn(contract.specification)
  let ofDocument: ErrorForm | undefined
  const common = (facts: ErrorFacts) => {
    ofDocument ??= commonForm(contract, namesIn, own)
    return ofDocument(facts)
  }
  return {
    of: ({ responses }, check) => formOf(responses, check, namesIn, own, common),
    ofDocument: common,
  }
}

type NamesIn = (schema: AnySchema | undefined) => ReadonlySet<string>

function formOf(
  responses: Operation['responses'],
  check: ResponseCheck,
  namesIn: NamesIn,
  own: ErrorBodyOf | undefined,
  otherwise: ErrorForm,
): ErrorForm {
  const named = [...responses].map(([status, { contents }]) => {
    return [status, contents.filter(({ mediaType }) => !isRange(mediaType))] as const
  })
  const contentsOf = byStatus(new Map(named))
  return (facts) => {
    const { status } = facts
    const made = own?.(facts)
    let nearest: ContentFault | undefined
    for (const content of contentsOf(status) ?? []) {
      const { mediaType } = content
      const fit: Fit = (body) => check.fault(status, body, mediaType)
      const tried = made === undefined ? bodyFor(content, facts, fit, namesIn) : tryBody(made, fit)
      if (tried !== undefined && tried.fault === undefined)
        return { status, type: essence(mediaType), body: tried.body, isDeclared: true }
      nearest ??= tried?.fault
    }
    return { ...otherwise(facts), isDeclared: false, fault: nearest }
  }
}

/** A body, and its fault if it has one. */
interface Tried {
  readonly body: unknown
  readonly fault: ContentFault | undefined
}

function tryBody(body: unknown, fit: Fit): Tried {
  return { body, fault: fit(body) }
}

// Returns the first of the engine's forms that is valid, or else the form that the schema means. An open
// schema would also accept a body that has none of the fields it declares, which helps no client.
function bodyFor(content: Content, facts: ErrorFacts, fit: Fit, namesIn: NamesIn): Tried | undefined {
  if (!kindOf(content).isOfValue) return undefined
  const { mediaType, schema } = content
  const names = namesIn(schema)
  const isProblemType = essence(mediaType) === 'application/problem+json'
  const isOpen = names.size === 0
  const isPlain = isOpen || names.has('code') || names.has('message')
  const isProblem = isOpen ? isProblemType : names.has('title') || names.has('detail')
  const plain = () => (isPlain ? tryBody(plainBody(facts), fit) : undefined)
  const problem = () => (isProblem ? problemDetails(facts, fit) : undefined)
  const [first, second] = isProblemType ? [problem, plain] : [plain, problem]
  const meant = first()
  if (meant !== undefined && meant.fault === undefined) return meant
  const other = second()
  return other !== undefined && other.fault === undefined ? other : (meant ?? other)
}

// Creates a function that collects the names of the properties that a schema declares, following references.
function createNamesIn(document: object): NamesIn {
  const reader = new Reader(document)
  const known = new Map<AnySchema | undefined, ReadonlySet<string>>()
  const collect = (schema: AnySchema | undefined, seen: Set<AnySchema>): string[] => {
    if (typeof schema !== 'object' || seen.has(schema)) return []
    seen.add(schema)
    return schemasOfValue(schema).flatMap((part) => {
      const { properties = {}, $ref } = part
      const referred = $ref === undefined ? [] : collect(reader.node(part), seen)
      return [...Object.keys(properties as object), ...referred]
    })
  }
  return (schema) => {
    const names = known.get(schema) ?? new Set(collect(schema, new Set()))
    known.set(schema, names)
    return names
  }
}

// Returns the first form that can be made among the declared errors, tried from the most frequent to the
// rarest.
function commonForm(contract: Contract, namesIn: NamesIn, own: ErrorBodyOf | undefined): ErrorForm {
  const checkOf = createResponseChecks(contract.functions())
  const forms = commonErrors(contract).map((response) => {
    const responses = new Map(['4xx', '5xx'].map((status) => [status, { ...response, status }]))
    return formOf(responses, checkOf({ id: 'errors', responses }, false), namesIn, own, plainError)
  })
  const usable = forms.find((form) => form(anyFacts).isDeclared) ?? plainError
  return (facts) => {
    const response = usable(facts)
    const made = response.isDeclared ? undefined : own?.(facts)
    return made === undefined ? response : { ...response, body: made }
  }
}

const anyFacts: ErrorFacts = {
  code: 'route_not_found',
  message: 'There is nothing at this path.',
  status: 404,
  violations: [],
  requestId: '00000000-0000-4000-8000-000000000000',
  operation: undefined,
}

// How many different errors are tried.
const commonMax = 10

function commonErrors({ operations }: Contract): Response[] {
  const counts = new Map<string, { readonly response: Response; count: number }>()
  for (const { responses } of operations.values()) {
    for (const response of errorsAmong(responses).filter(({ contents }) => contents.length > 0)) {
      const text = String(stringify(response.contents.map(({ mediaType, schema }) => [mediaType, schema])))
      const entry = counts.get(text) ?? { response, count: 0 }
      entry.count++
      counts.set(text, entry)
    }
  }
  const sorted = [...counts.values()].sort((a, b) => b.count - a.count)
  return sorted.slice(0, commonMax).map(({ response }) => response)
}
