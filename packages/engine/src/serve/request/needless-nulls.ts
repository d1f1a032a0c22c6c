// Nulls in place of fields that may be absent: language models send them for what they leave out, and learn
// from the message that the field is not needed.

import type { ErrorObject } from 'ajv'
import type { Validator } from '../../document/judges.js'
import { jsonPointer, tokensOf } from '../../document/pointer.js'

/** The places of a body whose errors are about a null, and would have none if the field were absent. */
export function needlessNulls(
  body: unknown,
  errors: readonly ErrorObject[],
  validate: Validator | undefined,
): ReadonlySet<string> {
  const places = errors.map(({ instancePath }) => instancePath).filter((each) => isNullField(body, each))
  if (places.length === 0 || validate === undefined) return new Set()
  const without = new Set(places)
  const left = validate.explain(copied(body, '', without))
  const needed = new Set(left.flatMap(missing))
  return new Set(places.filter((each) => !needed.has(each)))
}

// Without the fields at these places.
function copied(value: unknown, at: string, without: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const placeOf = (key: string | number) => at + jsonPointer([key])
  if (Array.isArray(value)) return value.map((each, i) => copied(each, placeOf(i), without))
  const kept = Object.entries(value).filter(([name]) => !without.has(placeOf(name)))
  return Object.fromEntries(kept.map(([name, each]) => [name, copied(each, placeOf(name), without)]))
}

function missing({ instancePath, params: { missingProperty } }: ErrorObject): string[] {
  return missingProperty === undefined ? [] : [instancePath + jsonPointer([missingProperty])]
}

// An item of a list cannot be absent.
function isNullField(body: unknown, place: string): boolean {
  let [around, value] = [undefined as unknown, body]
  for (const token of tokensOf(place)) {
    if (typeof value !== 'object' || value === null) return false
    around = value
    value = (value as Record<string, unknown>)[token]
  }
  return value === null && around !== undefined && !Array.isArray(around)
}
