// What the body of an error tells of itself, in the fields that are named for it: its status, its code and its message.

import { isNumber } from '../values/exact-numbers.js'

/** What is known of an error. */
export interface Told {
  readonly status: number
  readonly code?: string | undefined
  readonly message?: string | undefined
}

const factNames: readonly (readonly [name: RegExp, fact: keyof Told])[] = [
  [/^(?:message|detail|details|description|error_description|reason|msg|title)$/i, 'message'],
  [/^(?:code|error|error_?code|type)$/i, 'code'],
  [/^(?:status|status_?code|http_?status|http_?code)$/i, 'status'],
]

function factOf(name: string): keyof Told | undefined {
  return factNames.find(([pattern]) => pattern.test(name))?.[1]
}

/** A body that tells these facts: in its own fields and those of an object within, as in `{ error: { message } }`. */
export function withFacts(value: unknown, facts: Told): unknown {
  if (Array.isArray(value)) return value.map((each) => withFacts(each, facts))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, each]) => {
    const fact = factOf(name)
    if (typeof each === 'object' || fact === undefined) return [name, withFacts(each, facts)]
    return [name, likeIt(facts[fact], each)]
  })
  return Object.fromEntries(fields)
}

// In the form that the field has: some write a status as text, and some a number as a code.
function likeIt(fact: string | number | undefined, field: unknown): unknown {
  if (fact === undefined) return field
  if (typeof fact === typeof field) return fact
  if (typeof fact === 'number')
    return typeof field === 'string' && /^\d{3}$/.test(field) ? String(fact) : field
  return field
}

/** The fields of a body that tell a fact. */
function* tellingOf(value: unknown, fact: keyof Told): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, each] of Object.entries(value)) {
    if (typeof each === 'object') yield* tellingOf(each, fact)
    else if (factOf(name) === fact) yield each
  }
}

/** The status that a body tells, by itself or by its code; undefined if it tells none. */
export function statusTold(value: unknown, statuses: ReadonlyMap<string, number>): number | undefined {
  for (const each of tellingOf(value, 'status')) {
    const status = isNumber(each) || /^\d{3}$/.test(String(each)) ? Number(each) : Number.NaN
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  for (const each of tellingOf(value, 'code')) {
    const status = statuses.get(String(each))
    if (status !== undefined) return status
  }
  return undefined
}

/** A body that tells of an error, with all that fits its schema, and with less. */
export function* tellings(value: unknown, facts: Told, codes: readonly string[]): Generator<unknown> {
  for (const code of codes) yield withFacts(value, { ...facts, code })
  for (const code of codes) yield withFacts(value, { status: facts.status, code })
  yield withFacts(value, facts)
  yield withFacts(value, { status: facts.status })
  yield value
}
