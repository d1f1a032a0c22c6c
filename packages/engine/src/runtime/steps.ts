// Bounds what it takes to judge a value. A step applies a schema to a part of the value; a long text, or many
// names, are several. Where each schema applies to a part once, no value needs more steps than it has parts,
// times the schemas that there are. A schema may apply another one twice to the same part, that one a third,
// and so on: then each level of a body multiplies the time, which `generate` reports of schemas that contain
// themselves (doublings.ts), and here it ends. Steps and not seconds: a verdict does not depend on how busy
// the machine is.

import { Readable } from 'node:stream'
import type { ErrorObject } from 'ajv'

// Of any value: some 10 ms. Alternatives that nothing tells apart may need many steps for a small one.
export const freeSteps = 100_000
/**
 * Of each part, besides one for each schema. So some alternatives of alternatives may overlap, in a body of
 * any size.
 */
export const stepsOfPart = 32

/** Of a note on a part: it takes more memory than time. */
export const stepsOfNote = 4

/** Of no value: none is being judged. */
export const nothing = () => 0

/** Judging is synchronous, so that all validators share the count. It is no new object for each value. */
export const count = {
  left: Number.POSITIVE_INFINITY,
  /** What is being judged, and the steps that all schemas may take that apply to a part of it. */
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

/** Whether an error is that of a value that would take too many steps. */
export function isTooComplex(error: Pick<ErrorObject, 'keyword'> | undefined): boolean {
  return error?.keyword === tooComplex.keyword
}

/** Whether one was thrown because judging a value takes too many steps, or overflows the stack. */
export function isOutOfSteps(error: unknown): boolean {
  return error === outOfSteps || error instanceof RangeError
}

/** Runs what judges parts of one value, one by one, and does not change it: they share what they know. */
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

/** What all that judges the same value knows of its parts, made when it is asked for first. */
export function judgedTogether<Shared>(make: () => Shared): Shared {
  if (count.stepsOfSchemas === nothing) return make()
  count.shared ??= make()
  return count.shared as Shared // there is one kind of it
}

/** Takes steps of the value that is being judged. */
export function takeSteps(steps: number): void {
  count.left -= steps
  if (count.left < 0) extendSteps()
}

/** Takes those of the names of an object, if a value is one. */
export function takeNames(value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    takeSteps(Object.keys(value).length)
}

/** Of 32 characters, which a pattern reads in about the time of a step. */
export function stepsOfText(text: string): number {
  return 1 + (text.length >> 5)
}

/**
 * For a value that has taken the free steps, which few do: only now its parts are counted.
 * @throws if it has taken all that it may
 */
export function extendSteps(): void {
  if (count.isExtended) throw outOfSteps
  count.isExtended = true
  count.left += partCount(count.value) * (stepsOfPart + count.stepsOfSchemas()) - freeSteps
  if (count.left < 0) throw outOfSteps
}

// Not the bytes of a file, nor what a stream is made of.
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return !ArrayBuffer.isView(value) && !(value instanceof Readable)
}

// A response may have an object twice, or in itself.
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
