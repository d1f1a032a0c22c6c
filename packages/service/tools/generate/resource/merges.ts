// The changes that a resource's test sends: of each field to another value, of parts of objects, and to null,
// with what a merge patch (RFC 7396) leaves.

import type { Reader } from 'contract-engine/tools'
import { isAlways, type ResourceField } from './fields.js'
import { shapeOf } from './samples.js'

/** What is sent of a field, and what it is then. */
export interface FieldChange {
  readonly sent: unknown
  /** Undefined if it is not there any more. */
  readonly left: unknown
  /** Whether it is refused, because null removes what is required. */
  readonly isRefused?: boolean
}

type Names = Readonly<Record<string, unknown>>

/**
 * The changes of a field, each of what the one before has left.
 * @param field of the resource
 * @param patch the same field of the patch
 * @param first what is stored at first
 */
export function fieldChanges(
  reader: Reader,
  field: ResourceField,
  patch: ResourceField,
  first: unknown,
  other: unknown,
): FieldChange[] {
  const isMerged = field.type.sql === 'jsonb' && isObject(first) && isObject(other)
  const parts = isMerged ? partChanges(reader, field.schema, patch.schema, first, other) : []
  const isOther = JSON.stringify(first) !== JSON.stringify(other)
  const before = parts.at(-1)?.left ?? first
  const whole = isOther ? [{ sent: other, left: isMerged ? merged(before, other) : other }] : []
  const removed = { sent: null, left: field.isNullable && field.shown === 'always' ? null : undefined }
  return [...parts, ...whole, ...(patch.isNullable && !isAlways(field) ? [removed] : [])]
}

// One part of an object after the other: what it does not name has to stay.
function partChanges(
  reader: Reader,
  schema: unknown,
  patch: unknown,
  first: Names,
  other: Names,
): FieldChange[] {
  const [shape, ofPatch] = [shapeOf(reader, schema), shapeOf(reader, patch)]
  let left = first
  const changes: FieldChange[] = []
  const change = (sent: Names) => {
    left = merged(left, sent) as Names // of objects
    changes.push({ sent, left })
  }
  for (const [name, value] of Object.entries(first)) {
    const part = ofPatch.properties[name] ?? ofPatch.others
    if (part === undefined) continue
    const own = shape.properties[name] ?? shape.others
    if (isObject(value) && isObject(other[name]))
      for (const { sent, isRefused } of partChanges(reader, own, part, value, other[name] as Names)) {
        if (isRefused === true) changes.push({ sent: { [name]: sent }, left, isRefused })
        else change({ [name]: sent })
      }
    else if (other[name] !== undefined) change({ [name]: other[name] })
    if (!mayBeNull(reader, part)) continue
    const isTooFew = Object.keys(left).length <= shape.min
    if (shape.required.includes(name)) changes.push({ sent: { [name]: null }, left, isRefused: true })
    else if (!isTooFew) change({ [name]: null })
  }
  return changes
}

function mayBeNull(reader: Reader, given: unknown): boolean {
  const { type, anyOf, oneOf } = reader.node(given)
  const choices = [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  return [type, ...choices.map((each) => reader.node(each).type)].flat().includes('null')
}

function merged(stored: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const names = new Map(isObject(stored) ? Object.entries(stored) : [])
  for (const [name, value] of Object.entries(patch))
    if (value === null) names.delete(name)
    else names.set(name, merged(names.get(name), value))
  return Object.fromEntries(names)
}

function isObject(value: unknown): value is Names {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
