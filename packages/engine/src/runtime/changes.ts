// A value is judged as it was sent, and only then changed: integers of 64 bits become bigints, texts of
// parameters what their schemas say, and absent properties get their defaults. What is to be changed is noted
// in a list while a value is judged. An alternative that does not match takes back what it noted. Validation
// is synchronous, so that all validators can share the list.

import type { ValidateFunction } from 'ajv'
import { count, freeSteps, isOutOfSteps, nothing, stepsOfNote, takeSteps, tooComplex } from './steps.js'

/** An object or an array. */
export type Container = Record<string | number, unknown>

/** A property that has a default, or whose schema would change one that another schema has. */
export interface Property {
  readonly name: string
  readonly default: unknown
  /** Changes the property of an object as if its default had been sent. */
  readonly change: ((object: Container, name: string) => void) | undefined
}

/** What a value at a place becomes. There may be as many as a body has numbers, so each is small. */
interface Conversion {
  readonly kind: 'conversion'
  readonly parent: Container
  readonly property: string | number
  readonly given: unknown
  readonly value: unknown
  /** Whether it is made only if no other schema has converted the value. */
  readonly isWeak: boolean
}

type Change =
  | Conversion
  | { readonly kind: 'gap'; readonly object: Container; readonly properties: readonly Property[] }
  | { readonly kind: 'undo'; readonly undo: () => void }
  | { readonly kind: 'excuse' }

// Of the validation that runs: whatever begins one in another ends it first, and each leaves the lists as
// they were, also when it throws.
const changes: Change[] = []
// Where in the list there are excuses.
const excuses: number[] = []

/** Notes a conversion. */
export function noteConversion(conversion: Conversion): void {
  takeSteps(stepsOfNote)
  changes.push(conversion)
}

/** Notes how to undo what is only of use while the value is judged. */
export function noteUndo(undo: () => void): void {
  takeSteps(stepsOfNote)
  changes.push({ kind: 'undo', undo })
}

/** Notes an object that lacks some of these properties. */
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

/** Whether an object has a property of its own. One that is undefined counts as absent. */
export function has(object: Container, name: string): boolean {
  return Object.hasOwn(object, name) && object[name] !== undefined
}

/** Where the list ends now. */
export function changesNoted(): number {
  return changes.length
}

/** Whether nothing has been excused since the list ended there. */
export function isUnexcused(since: number): boolean {
  return (excuses.at(-1) ?? -1) < since
}

/** Takes back what was noted since the list ended at `from`. */
export function undoChanges(from: number): void {
  while (changes.length > from) {
    const change = changes.pop()
    if (change?.kind === 'undo') change.undo()
  }
  while (!isUnexcused(from)) excuses.pop()
}

/** Takes back what was noted since the list ended at `from`, but not what since `to`. */
export function undoChangesUntil(from: number, to: number): void {
  const kept = changes.splice(to)
  const excused: number[] = []
  while (!isUnexcused(to)) excused.unshift((excuses.pop() ?? to) - (to - from))
  undoChanges(from)
  for (const each of kept) changes.push(each)
  excuses.push(...excused)
}

/**
 * A validator that judges a value in a bounded number of steps, and changes it if it is valid.
 * @param stepsOfSchemas the steps that all schemas take which may apply to a part of it
 */
export function changing(validate: ValidateFunction, stepsOfSchemas: () => number): ValidateFunction {
  // Another value may be judged meanwhile, as is what made this one: its count goes on where it was.
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
      if (changes.length > start) undoChanges(start) // also if the steps have ended
    }
  }
  const changing = Object.assign(judge as ValidateFunction, validate)
  return changing
}

// Defaults last, because a converted value may be one that an object has. They are changed by every schema of
// the property, as they would be if they had been sent.
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
