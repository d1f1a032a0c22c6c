// Checks what a request can carry. A value that would be changed or lost on its way is refused before it is
// sent: JSON.stringify would write NaN as null, and a Map as {}; String would write an object as [object
// Object].

import { isBeyondDouble } from './json.js'
import { elementsAt, kindsAt, propertiesAt } from './places.js'
import type { ClientTable, Place } from './table.js'

/** A value of a request, with what its schema says about numbers. */
export interface Sent {
  /** The place of the value in the request: `body.items[0].id`. */
  readonly at: string
  readonly value: unknown
  readonly places: readonly Place[]
  readonly schemas: ClientTable['schemas']
}

/**
 * Refuses values that JSON cannot carry.
 * @throws {TypeError} naming the place of the value
 */
export function checkJson(sent: Sent, around: readonly unknown[] = []): void {
  const { at, value } = sent
  if (typeof value !== 'object' || value === null) {
    checkScalar(sent)
    return
  }
  if (around.includes(value)) throw new TypeError(`${at} refers back to an object that contains it`)
  const inner = [...around, value]
  const replaced = replacement(at, value)
  if (replaced !== value) checkJson({ ...sent, value: replaced }, inner)
  else for (const each of partsOf(sent, value)) checkJson(each, inner)
}

function partsOf(sent: Sent, value: object): Sent[] {
  return Array.isArray(value) ? elementsOf(sent, value) : membersOf(sent, value)
}

/**
 * Returns the text of a string, a number, a boolean, a bigint, or an object whose `toJSON` returns one of
 * these.
 * @throws {TypeError} for any other value
 */
export function scalarText({ value, ...sent }: Sent): string {
  const scalar = typeof value === 'object' && value !== null ? replacement(sent.at, value) : value
  if (typeof scalar === 'object')
    throw new TypeError(`${sent.at} must be a single value, not ${kindOf(scalar)}`)
  checkScalar({ ...sent, value: scalar })
  const text = String(scalar)
  if (/\p{Surrogate}/u.test(text)) throw new TypeError(`${sent.at} must not contain a lone surrogate`)
  return text
}

/** Returns the elements of an array, including those that are absent. */
export function elementsOf({ at, places, schemas }: Sent, value: readonly unknown[]): Sent[] {
  const placesOf = elementsAt(places, schemas)
  return Array.from(value, (each, i) => ({ at: `${at}[${i}]`, value: each, places: placesOf(i), schemas }))
}

/**
 * Returns the members of an object that are not undefined.
 * @throws {TypeError} if the object is no plain one
 */
export function membersOf(
  { at, places, schemas }: Sent,
  value: object,
): (Sent & { readonly name: string })[] {
  const isPlain = Object.prototype.toString.call(value) === '[object Object]'
  if (!isPlain) throw new TypeError(`${at} must not be ${kindOf(value)}`)
  const placesOf = propertiesAt(places, schemas)
  const given = Object.entries(value).filter(([, each]) => each !== undefined)
  return given.map(([name, each]) => {
    return { name, at: memberAt(at, name), value: each, places: placesOf(name), schemas }
  })
}

/** Returns the place of a member of an object. */
export function memberAt(at: string, name: string): string {
  return /^[\p{L}_$][\p{L}\d_$]*$/u.test(name) ? `${at}.${name}` : `${at}[${JSON.stringify(name)}]`
}

/**
 * Returns what JSON.stringify writes in place of an object: the result of its `toJSON`, or the value that it
 * boxes.
 */
export function replacement(at: string, value: object): unknown {
  if (value instanceof Date && Number.isNaN(value.getTime()))
    throw new TypeError(`${at} must not be an invalid Date`)
  const { toJSON } = value as { readonly toJSON?: unknown }
  if (typeof toJSON === 'function') return toJSON.call(value)
  const isBox = value instanceof String || value instanceof Number || value instanceof Boolean
  return isBox ? value.valueOf() : value
}

function checkScalar({ at, value, places, schemas }: Sent): void {
  if (['undefined', 'function', 'symbol'].includes(typeof value))
    throw new TypeError(`${at} must not be ${kindOf(value)}`)
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${at} must not be ${value}`)
  // The number may be rounded already: 9007199254740993 is 9007199254740992.
  if (isBeyondDouble(value) && kindsAt(places, schemas).includes('int64'))
    throw new TypeError(`${at} is beyond 2^53, where a number is not exact: give a bigint`)
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  if (Array.isArray(value)) return 'an array'
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1)
  return name === 'Object' ? 'an object' : `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}
