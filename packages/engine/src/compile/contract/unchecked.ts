// Finds keywords of schemas that the server does not check, or checks otherwise than the author may mean.

import type { Schema } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { checkedFormats, choicesOf, ofOtherDrafts } from '../../document/keywords.js'
import { isLegacyPattern } from '../../document/patterns.js'
import { pointerTo, resolvePointer } from '../../document/pointer.js'
import { nodesOf } from '../../document/reader.js'
import type { SchemaPlace } from '../../document/schema-places.js'
import { integerRanges } from '../../lib/exact-number.js'

/**
 * Returns a sentence, with its place, for each such keyword.
 * @param places the schemas of the document
 */
export function uncheckedKeywords(document: object, places: readonly SchemaPlace[]): Problem[] {
  const anchors = places.flatMap(({ schema }) => schema.$dynamicAnchor ?? [])
  const parents = new Set(places.flatMap(({ schema }) => nodesOf(schema.allOf).map(({ $ref }) => $ref)))
  return places.flatMap(({ schema, at }) => {
    const isParent = schema.discriminator !== undefined && parents.has(pointerTo(at))
    const texts = [ofType, ofFormat, ofPattern, ofRequired, ofDraft, ofNullable].map((each) => each(schema))
    const ofRef = ofDynamicRef(document, schema, anchors)
    return [...texts, ofRef, isParent ? ofParent(schema) : undefined].flatMap((text) =>
      text === undefined ? [] : [{ text: `${pointerTo(at)}: ${text}`, at }],
    )
  })
}

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

function ofType({ type = [] }: Schema): string | undefined {
  const other = [type].flat().find((each) => !types.includes(String(each)))
  return other === undefined || other === null
    ? undefined
    : `${other} is no type, so no server can check it: types are ${types.join(', ')}`
}

// Formats of strings that are checked, and annotations: they say how a value is shown, or that it may be any
// bytes.
const known = new Set<string>([...checkedFormats, 'binary', 'password', 'commonmark', 'html'])

function ofFormat({ format, type }: Schema): string | undefined {
  if (typeof format !== 'string' || known.has(format)) return undefined
  const types = [type].flat()
  const isFloat = format === 'float' || format === 'double'
  if (isFloat && types.includes('number')) return undefined
  if (!isFloat && !(format in integerRanges)) return `the format ${format} is not checked`
  if (types.includes('integer')) return undefined
  const shown = typeof type === 'string' ? `a ${type}` : 'any type'
  return `the format ${format} of ${shown} is not checked: it is one of ${isFloat ? 'numbers' : 'integers'}`
}

function ofPattern({ pattern, patternProperties = {} }: Schema): string | undefined {
  const patterns = [pattern, ...Object.keys(patternProperties as object)]
  const legacy = patterns.find((each) => typeof each === 'string' && isLegacyPattern(each))
  return legacy === undefined
    ? undefined
    : `the pattern ${legacy} is only valid, and read, without the flag u`
}

function ofRequired({ required, ...schema }: Schema): string | undefined {
  if (required !== true) return Array.isArray(required) ? ofNames(required, schema) : undefined
  return 'required: true says nothing: name the property in the list required of the object around it'
}

function ofNames(
  required: readonly unknown[],
  { properties = {}, patternProperties, additionalProperties }: Schema,
) {
  if (additionalProperties !== false || patternProperties !== undefined) return undefined
  const missing = required.find((name) => !Object.hasOwn(properties as object, String(name)))
  return missing === undefined ? undefined : `${missing} is required but not allowed, so no value is valid`
}

// Of the other keywords from older drafts, `dependencies` is checked, and the recursive ones are refused.
function ofDraft({ additionalItems }: Schema): string | undefined {
  if (additionalItems === undefined) return undefined
  return `additionalItems is of another draft, and not checked: write ${ofOtherDrafts.get('additionalItems')}`
}

// Every reader of `nullable` lets null pass, even beside an enum without it. By OpenAPI 3.0.3 (section
// 4.7.24.1), `nullable` only adds null to the type.
function ofNullable({ nullable, enum: values }: Schema): string | undefined {
  if (nullable !== true || !Array.isArray(values) || values.includes(null)) return undefined
  return 'nullable lets null pass, which is not in its enum: OpenAPI 3.0.3 would have it there, so add it'
}

// References are resolved once, wherever they are reached from (dynamic-refs.ts).
function ofDynamicRef(
  document: object,
  { $dynamicRef: ref }: Schema,
  anchors: readonly unknown[],
): string | undefined {
  if (typeof ref !== 'string') return undefined
  const targets = anchors.filter((each) => `#${each}` === ref).length
  if (targets === 1 || resolvePointer(document, ref) !== undefined) return undefined
  return targets > 1
    ? `$dynamicRef ${ref} has ${targets} targets, of which only the first is checked`
    : `$dynamicRef ${ref} is not checked`
}

// For a schema with a discriminator that others extend.
function ofParent(schema: Schema): string | undefined {
  if (choicesOf(schema).length > 0) return undefined
  return (
    'the discriminator does not select the schemas that extend this one, which are not checked: ' +
    'list them in oneOf'
  )
}
