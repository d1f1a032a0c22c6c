// Computes the changes that a resource's test sends: each field to another value, parts of objects, and null;
// and what each merge patch (RFC 7396) leaves.

import type { Reader } from 'contract-engine/tools'
import { isAlways, type ResourceField } from './fields.js'
import { shapeOf } from './samples.js'

/** A value sent for a field, and the value that the field has afterwards. */
export interface FieldChange {
  readonly sent: unknown
  /** Undefined if the field is gone afterwards. */
  readonly left: unknown
  /** True if the service refuses it, because null would remove a required field. */
  readonly isRefused?: boolean
}

type Names = Readonly<Record<string, unknown>>

/**
 * Returns the changes of a field. Each applies to the result of the one before.
 * @param field of the resource
 * @param patch the same field in the schema of the patch
 * @param first the value that is stored at first
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

// Changes one part of an object after the other, because the parts that a patch does not name must stay.
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
    left = merged(left, sent) as Names // both are objects
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
