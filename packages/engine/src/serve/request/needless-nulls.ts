// Nulls in place of fields that may be absent. Language models send null for fields that they have no value
// for; the message tells them to leave the field out.

import type { ErrorObject } from 'ajv'
import type { Validator } from '../../document/functions.js'
import { jsonPointer, tokensOf } from '../../document/pointer.js'

/** Returns the places of a body where a null causes an error, and an absent field would cause none. */
export function needlessNulls(
  body: unknown,
  errors: readonly ErrorObject[],
  validate: Validator | undefined,
): ReadonlySet<string> {
  const places = errors.map(({ instancePath }) => instancePath).filter((each) => isNullField(body, each))
  if (places.length === 0 || validate === undefined) return new Set()
  const without = new Set(places)
  const left = validate.explain(withoutFields(body as object, without))
  const needed = new Set(left.flatMap(missing))
  return new Set(places.filter((each) => !needed.has(each)))
}

// Copies only what is on the way to these places. It does not recurse, because a body may be nested deeply.
function withoutFields(body: object, places: ReadonlySet<string>): object {
  const copies = new Map<object, Container>()
  const copyOf = (value: object): Container => {
    const known = copies.get(value) ?? ((Array.isArray(value) ? [...value] : { ...value }) as Container)
    return copies.set(value, known) && known
  }
  const root = copyOf(body)
  for (const place of places) {
    const tokens = tokensOf(place)
    const last = tokens.pop() as string // the place of a field ends with its name
    let [value, copy] = [body as Container, root]
    for (const token of tokens) {
      value = value[token] as Container
      copy[token] = copyOf(value)
      copy = copy[token] as Container
    }
    delete copy[last]
  }
  return root
}

type Container = Record<string, unknown>

function missing({ instancePath, params: { missingProperty } }: ErrorObject): string[] {
  return missingProperty === undefined ? [] : [instancePath + jsonPointer([missingProperty])]
}

// Only fields count: an item of a list cannot be absent.
function isNullField(body: unknown, place: string): boolean {
  let [around, value] = [undefined as unknown, body]
  for (const token of tokensOf(place)) {
    if (typeof value !== 'object' || value === null) return false
    around = value
    value = (value as Record<string, unknown>)[token]
  }
  return value === null && around !== undefined && !Array.isArray(around)
}
