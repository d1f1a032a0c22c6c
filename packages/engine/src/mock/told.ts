// The facts about an error that its body tells, in the fields named for them: its status, code and message.

import { isNumber } from '../runtime/exact-numbers.js'

/** The facts about an error. */
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

/**
 * Returns a body that tells these facts, in its own fields and in those of objects within it, as in `{ error:
 * { message } }`.
 */
export function withFacts(value: unknown, facts: Told): unknown {
  if (Array.isArray(value)) return value.map((each) => withFacts(each, facts))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, each]) => {
    const fact = factOf(name)
    if (typeof each === 'object' || fact === undefined) return [name, withFacts(each, facts)]
    return [name, likeIt(facts, fact, each)]
  })
  return Object.fromEntries(fields)
}

// Returns a fact in the form that the field has: some contracts write a status as text, or as the code.
function likeIt(facts: Told, fact: keyof Told, field: unknown): unknown {
  if (isNumber(field)) return fact === 'message' ? field : facts.status
  const told = facts[fact]
  if (typeof field !== 'string' || told === undefined) return field
  return typeof told === 'string' || isStatus(field) ? String(told) : field
}

function isStatus(value: unknown): boolean {
  return /^[1-5]\d\d$/.test(String(value))
}

/** Yields the fields of a body that tell a fact. */
function* tellingOf(value: unknown, fact: keyof Told): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, each] of Object.entries(value)) {
    if (typeof each === 'object') yield* tellingOf(each, fact)
    else if (factOf(name) === fact) yield each
  }
}

/** Returns the status that a body tells, by itself or by its code; undefined if it tells none. */
export function statusTold(value: unknown, statuses: ReadonlyMap<string, number>): number | undefined {
  const told = [...tellingOf(value, 'status'), ...tellingOf(value, 'code')].find(isStatus)
  if (told !== undefined) return Number(told)
  const [status] = [...tellingOf(value, 'code')].flatMap((code) => statuses.get(String(code)) ?? [])
  return status
}

/** Yields bodies that tell of an error: those with all facts first, then those with fewer. */
export function* tellings(value: unknown, facts: Told, codes: readonly string[]): Generator<unknown> {
  for (const code of codes) yield withFacts(value, { ...facts, code })
  for (const code of codes) yield withFacts(value, { status: facts.status, code })
  yield withFacts(value, facts)
  yield withFacts(value, { status: facts.status })
  yield value
}
