// A value is judged as it was sent, and changed only once it is valid: 64-bit integers become bigints, texts
// of parameters become the types in their schemas, and absent properties get their defaults. While a value is
// judged, its changes are noted in a list. An alternative that does not match takes back its notes.
// Validation is synchronous, so all validators can share the list.

import type { ValidateFunction } from 'ajv'
import { count, freeSteps, isOutOfSteps, nothing, stepsOfNote, takeSteps, tooComplex } from './steps.js'

/** An object or an array. */
export type Container = Record<string | number, unknown>

/** A property that has a default, or whose schema would change a default from another schema. */
export interface Property {
  readonly name: string
  readonly default: unknown
  /** Changes the property of an object as if its default had been sent. */
  readonly change: ((object: Container, name: string) => void) | undefined
}

/** The new value of a place. There may be one for each number of a body, so each is small. */
interface Conversion {
  readonly kind: 'conversion'
  readonly parent: Container
  readonly property: string | number
  readonly given: unknown
  readonly value: unknown
  /** True if a conversion of the same value by any other schema takes its place. */
  readonly isWeak: boolean
}

type Change =
  | Conversion
  | { readonly kind: 'gap'; readonly object: Container; readonly properties: readonly Property[] }
  | { readonly kind: 'undo'; readonly undo: () => void }
  | { readonly kind: 'excuse' }

// The list belongs to the validation that runs. A validation within another one ends first, and leaves both
// lists as it found them, also when it throws.
const changes: Change[] = []
// Where the excuses are in the list.
const excuses: number[] = []

/** Notes a conversion. */
export function noteConversion(conversion: Conversion): void {
  takeSteps(stepsOfNote)
  changes.push(conversion)
}

/** Notes how to undo something that is only of use while the value is judged. */
export function noteUndo(undo: () => void): void {
  takeSteps(stepsOfNote)
  changes.push({ kind: 'undo', undo })
}

/** Notes an object if it lacks one of these properties. */
export function noteAbsent(object: Container, properties: readonly Property[]): void {
  if (properties.every(({ name }) => has(object, name))) return
  takeSteps(stepsOfNote)
  changes.push({ kind: 'gap', object, properties })
}

/** Notes an excuse if an object lacks one of these properties, which are required and have a default. */
export function noteExcuse(object: Container, names: readonly string[]): void {
  if (names.every((name) => has(object, name))) return
  excuses.push(changes.length)
  changes.push({ kind: 'excuse' })
}

/** True if an object has the property itself. A property that is undefined counts as absent. */
export function has(object: Container, name: string): boolean {
  return Object.hasOwn(object, name) && object[name] !== undefined
}

/** Returns the present length of the list. */
export function changesNoted(): number {
  return changes.length
}

/** True if nothing has been excused since the list had this length. */
export function isUnexcused(since: number): boolean {
  return (excuses.at(-1) ?? -1) < since
}

/** Takes back what was noted since the list had the length `from`. */
export function undoChanges(from: number): void {
  while (changes.length > from) {
    const change = changes.pop()
    if (change?.kind === 'undo') change.undo()
  }
  while (!isUnexcused(from)) excuses.pop()
}

/** Takes back what was noted since the list had the length `from` and before it had the length `to`. */
export function undoChangesUntil(from: number, to: number): void {
  const kept = changes.splice(to)
  const excused: number[] = []
  while (!isUnexcused(to)) excused.unshift((excuses.pop() ?? to) - (to - from))
  undoChanges(from)
  for (const each of kept) changes.push(each)
  excuses.push(...excused)
}

/**
 * Returns a validator that judges a value in a bounded number of steps, and changes it if it is valid.
 * @param stepsOfSchemas returns the steps that all schemas take which may apply to a part of the value
 */
export function changing(validate: ValidateFunction, stepsOfSchemas: () => number): ValidateFunction {
  // This validation may run within another one, of another value. Afterwards, the count of the outer one goes
  // on where it was.
  const judgeInSteps: typeof judge = (data, context) => {
    const { left, value, stepsOfSchemas: ofOuter, isExtended } = count
    count.left = freeSteps
    count.value = data
    count.stepsOfSchemas = stepsOfSchemas
    count.isExtended = false
    try {
      const isValid = validate(data, context)
      changing.errors = isValid ? null : [...(validate.errors ?? [])]
      return isValid
    } catch (error) {
      if (!isOutOfSteps(error)) throw error
      changing.errors = [tooComplex]
      return false
    } finally {
      count.left = left
      count.value = value
      count.stepsOfSchemas = ofOuter
      count.isExtended = isExtended
      if (ofOuter === nothing) count.shared = undefined
    }
  }
  const judge = (data: unknown, context?: Parameters<ValidateFunction>[1]): boolean => {
    const start = changes.length
    try {
      const isValid = judgeInSteps(data, context)
      if (isValid && changes.length > start) make(start)
      return isValid
    } finally {
      if (changes.length > start) undoChanges(start) // also if the value ran out of steps
    }
  }
  const changing = Object.assign(judge as ValidateFunction, validate)
  return changing
}

// Defaults come last, because a converted value may contain an object that needs them. Every schema of the
// property changes a default as it would change a value that was sent.
function make(from: number): void {
  const gaps: { readonly object: Container; readonly property: Property }[] = []
  for (let i = from, end = changes.length; i < end; i++) {
    const change = changes[i] as Change
    if (change.kind === 'conversion') convert(change)
    if (change.kind === 'gap')
      for (const property of change.properties)
        if (!has(change.object, property.name)) gaps.push({ object: change.object, property })
  }
  for (const { object, property } of gaps) {
    const { name, default: value } = property
    if (value !== undefined && !has(object, name))
      object[name] = typeof value === 'object' ? structuredClone(value) : value
  }
  for (const { object, property } of gaps)
    if (has(object, property.name)) property.change?.(object, property.name)
}

function convert({ parent, property, given, value, isWeak }: Conversion): void {
  if (!isWeak || parent[property] === given) parent[property] = value
}
