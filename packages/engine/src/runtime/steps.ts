// Bounds the work of judging a value. A step applies a schema to a part of the value; a long string, or many
// names, take several. If each schema applies to a part once, no value needs more steps than its parts times
// the schemas. But a schema may apply another one twice to the same part, which applies a third one twice,
// and so on: then each level of a body multiplies the time. `generate` reports such schemas if they contain
// themselves (doublings.ts); this module stops such values. It counts steps, not seconds, so a verdict does
// not depend on how busy the machine is.

import { Readable } from 'node:stream'
import type { ErrorObject } from 'ajv'

// The steps of any value, some 10 ms. Even a small value may need many, if nothing tells its alternatives
// apart.
export const freeSteps = 100_000
/**
 * The steps of each part, besides one for each schema: they allow some alternatives of alternatives to
 * overlap, in a body of any size.
 */
export const stepsOfPart = 32

/** The steps of a note about a part. A note takes more memory than time. */
export const stepsOfNote = 4

/** `count.stepsOfSchemas` has this value while nothing is judged. */
export const nothing = () => 0

/**
 * The count of the value that is being judged. Judging is synchronous, so all validators share this object,
 * and none is created for each value.
 */
export const count = {
  left: Number.POSITIVE_INFINITY,
  /** The value, and the steps that all schemas may take which apply to a part of it. */
  value: undefined as unknown,
  stepsOfSchemas: nothing,
  isExtended: true,
  shared: undefined as unknown,
}

const outOfSteps = new Error('out of steps')

/** The error of a value that would take too many steps. */
export const tooComplex: ErrorObject = {
  keyword: 'steps',
  instancePath: '',
  schemaPath: '',
  params: {},
  message: 'takes too many steps to check',
}

/** True if an error says that a value would take too many steps. */
export function isTooComplex(error: Pick<ErrorObject, 'keyword'> | undefined): boolean {
  return error?.keyword === tooComplex.keyword
}

/** True if an error was thrown because judging takes too many steps, or overflows the stack. */
export function isOutOfSteps(error: unknown): boolean {
  return error === outOfSteps || error instanceof RangeError
}

/**
 * Runs a function that judges the parts of one value one after the other, and does not change it: the parts
 * share what is known of them (`judgedTogether`).
 */
export function judgeTogether(run: () => void): void {
  const before = { ...count }
  Object.assign(count, unbounded)
  try {
    run()
  } finally {
    Object.assign(count, before)
  }
}

const unbounded = {
  left: Number.POSITIVE_INFINITY,
  value: undefined,
  stepsOfSchemas: () => 0,
  isExtended: true,
}

/** Returns what all judges of the same value share, created when it is first asked for. */
export function judgedTogether<Shared>(make: () => Shared): Shared {
  if (count.stepsOfSchemas === nothing) return make()
  count.shared ??= make()
  return count.shared as Shared // all callers share the same type
}

/** Takes steps of the value that is being judged. */
export function takeSteps(steps: number): void {
  count.left -= steps
  if (count.left < 0) extendSteps()
}

/** Takes a step for each name, if a value is an object. */
export function takeNames(value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    takeSteps(Object.keys(value).length)
}

/**
 * Returns the steps of a text: one for each 32 characters, which a pattern reads in about the time of a step.
 */
export function stepsOfText(text: string): number {
  return 1 + (text.length >> 5)
}

/**
 * Grants further steps to a value that has used the free ones, which few do. Only now are its parts counted.
 * @throws if the value has taken all steps that it may
 */
export function extendSteps(): void {
  if (count.isExtended) throw outOfSteps
  count.isExtended = true
  count.left += partCount(count.value) * (stepsOfPart + count.stepsOfSchemas()) - freeSteps
  if (count.left < 0) throw outOfSteps
}

// The bytes of a file are no parts of the value, nor is what a stream holds.
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return !ArrayBuffer.isView(value) && !(value instanceof Readable)
}

// Looks into each object once: a response may contain an object twice, or within itself.
function partCount(value: unknown, known = new Map<object, number>()): number {
  if (typeof value === 'string') return stepsOfText(value)
  if (!isContainer(value)) return 1
  const before = known.get(value)
  if (before !== undefined) return before
  known.set(value, 1)
  let parts = 1
  for (const each of Object.values(value)) parts += partCount(each, known)
  known.set(value, parts)
  return parts
}
