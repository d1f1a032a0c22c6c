// Problem details (RFC 9457), with the members that a schema allows.

import { STATUS_CODES } from 'node:http'
import type { ErrorObject } from 'ajv'
import { isChoice } from '../../document/keywords.js'
import { tokensOf } from '../../document/pointer.js'
import type { Violation } from '../../document/request-error.js'
import type { ContentFault } from '../../kinds/kind.js'
import type { ErrorFacts } from '../request/errors.js'

/** Returns the fault of a body; undefined if it has none. */
export type Fit = (body: unknown) => ContentFault | undefined

// Each try gives up one member; `errors` has several forms.
const triesMax = 12

/**
 * Returns the problem of an error: `type`, `title`, `status`, `detail` and `instance`, and as extensions
 * `code`, and `errors` with the place and the detail of each violation. It leaves out members that the schema
 * refuses, and returns the fault that remains beside the body. It returns undefined if neither `title` nor
 * `detail` is left.
 */
export function problemDetails(
  facts: ErrorFacts,
  fit: Fit,
): { readonly body: object; readonly fault: ContentFault | undefined } | undefined {
  const forms = errorsOf(facts.violations)
  const body = new Map<string, unknown>(Object.entries({ ...membersOf(facts), errors: forms.shift() }))
  for (let i = 0; i < triesMax; i++) {
    if (body.get('errors') === undefined) body.delete('errors')
    const problem = Object.fromEntries(body)
    const fault = fit(problem)
    if (fault === undefined)
      return body.has('title') || body.has('detail') ? { body: problem, fault } : undefined
    const { errors } = fault
    const refused = refusedMember(errors, (name) => body.has(name))
    if (refused === 'errors') body.set('errors', forms.shift())
    else if (refused !== undefined) body.delete(refused)
    else if (errors.some(({ params }) => params.missingProperty === 'errors')) body.set('errors', [])
    else return { body: problem, fault }
  }
  return undefined
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

// With `about:blank`, the title is that of the status (RFC 9457, section 4.2.1). The request's id identifies
// the occurrence; an id from the client may be no UUID, and then becomes a relative reference.
function membersOf({ code, message, status, requestId }: ErrorFacts): object {
  return {
    type: 'about:blank',
    title: String(STATUS_CODES[status] ?? status),
    status,
    detail: message,
    instance: uuid.test(requestId) ? `urn:uuid:${requestId}` : encodeURIComponent(requestId),
    code,
  }
}

/** A violation in `errors`. */
interface Entry {
  readonly detail: string
  readonly pointer?: string
  readonly parameter?: string
  readonly header?: string
}

// Returns the forms of `errors` to try: each violation with a pointer or the name of a parameter, then only
// those with pointers, then all without places.
function errorsOf(violations: readonly Violation[]): (readonly Entry[])[] {
  const entries = violations.map(entryOf)
  const forms = [
    entries,
    entries.filter(({ pointer }) => pointer !== undefined),
    entries.map(({ detail }) => ({ detail })),
  ]
  return forms.filter(({ length }) => length > 0)
}

// The pointer is a JSON Pointer in a fragment (RFC 9457, section 3; RFC 6901, section 6).
function entryOf({ in: part, pointer, detail }: Violation): Entry {
  if (part === 'body') return { detail, pointer: `#${pointer.split('/').map(encodeURIComponent).join('/')}` }
  const [name = ''] = tokensOf(pointer)
  return part === 'header' ? { detail, header: name } : { detail, parameter: name }
}

// If a schema has alternatives, its errors do not tell which one was meant, so these are given up in this
// order.
const optional = ['errors', 'code', 'instance', 'type', 'status']

function refusedMember(errors: readonly ErrorObject[], has: (name: string) => boolean): string | undefined {
  const named = errors.flatMap(membersIn).find(has)
  const isAlternative = errors.some(({ keyword }) => isChoice(keyword))
  return named ?? (isAlternative ? optional.find(has) : undefined)
}

// Returns the members that an error of the schema is about.
function membersIn({ instancePath, params }: ErrorObject): string[] {
  const [member] = tokensOf(instancePath)
  if (member !== undefined) return [member]
  const { additionalProperty, unevaluatedProperty, propertyName } = params
  return [additionalProperty, unevaluatedProperty, propertyName].filter((each) => typeof each === 'string')
}
