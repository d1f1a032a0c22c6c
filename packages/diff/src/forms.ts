// Compares the fields of forms. The schema and the encoding of a field together make it a file, a text or
// JSON, so this reads them as the server does.

import { accepts, type Field, plainField, Reader, readContents } from 'contract-engine/tools'
import { claim, report, type Spot } from './comparison.js'
import { eachName, isNode, type Node, type Pair } from './node.js'
import { child, inside } from './references.js'
import { type Effect, reportEffect } from './rules.js'

type Fields = ReadonlyMap<string, Field>

interface Form {
  readonly fields: Fields
  /** The field of any other name. */
  readonly other: Field
}

/**
 * Reports changes of a form's fields that are not in their schemas.
 * @returns the spot of the form's schemas, in which a field that becomes a list, or was one, is a list in
 * both; undefined if the server reads no form
 */
export function compareForm(media: Spot, mediaType: string): Spot | undefined {
  const [was, is] = [formOf(media, 'before', mediaType), formOf(media, 'after', mediaType)]
  if (media.direction !== 'request' || was === undefined || is === undefined) return undefined
  const schema = child(media, 'schema')
  const fieldAt = (name: string) =>
    inside(schema, partOf(schema.before, name), partOf(schema.after, name), `${schema.where}.${name}`)
  eachName(was.fields.keys(), is.fields.keys(), {
    removed: (name) => {
      // If the form refuses other fields, the removed field is reported by itself.
      if (!refusesOthers(schema.after)) compareOther(fieldAt(name), fieldIn(was, name), is.other)
    },
    kept: (name) => compareField(fieldAt(name), fieldIn(was, name), fieldIn(is, name)),
  })
  claim(media, 'encoding')
  const lists = [...was.fields.keys()].filter(
    (name) => is.fields.has(name) && fieldIn(was, name).isList !== fieldIn(is, name).isList,
  )
  return lists.length === 0 ? schema : withLists(schema, lists, { was, is })
}

function formOf({ comparison, ...media }: Spot, side: keyof Pair, mediaType: string): Form | undefined {
  const reader = new Reader(comparison.documents[side])
  const { result } = reader.collectUnsupported(() =>
    readContents(reader, '', { [mediaType]: media[side] }, 'request'),
  )
  const [{ fields, additionalField = plainField } = {}] = result
  return fields && { fields, other: additionalField }
}

function fieldIn({ fields, other }: Form, name: string): Field {
  return fields.get(name) ?? other
}

function partOf({ properties }: Node, name: string): unknown {
  return isNode(properties) ? properties[name] : undefined
}

function refusesOthers({ additionalProperties, unevaluatedProperties }: Node): boolean {
  return (additionalProperties ?? unevaluatedProperties) === false
}

// Compares a removed field with the field of any other name.
function compareOther(field: Spot, was: Field, is: Field): void {
  compareKind(field, was, is)
  if (was.isList && !is.isList) report(field, 'major', 'several values -> one')
}

function compareField(field: Spot, was: Field, is: Field): void {
  compareKind(field, was, is)
  compareMediaTypes(field, was, is)
  if (was.separator !== is.separator) report(field, 'major', 'the separator of its list changed')
}

const keywordsOfKinds = ['format', 'contentMediaType', 'contentEncoding']

// Any text is also a valid file. In all other cases, a value of one kind is not valid, or does not mean the
// same, as another kind.
function compareKind(field: Spot, was: Field, is: Field): void {
  if (was.kind === is.kind) return
  const isFileNow = was.kind === 'text' && is.kind === 'file'
  report(field, isFileNow ? 'minor' : 'major', `${was.kind} -> ${is.kind}`)
  for (const part of [field, child(field, 'items')]) claim(part, ...keywordsOfKinds)
  if (isFileNow) compareLengths(field)
}

// The length of a text counts characters of up to four bytes each, the length of a file counts bytes.
function compareLengths(field: Spot): void {
  for (const { before, after } of [field, child(field, 'items')]) {
    const [was, is] = [Number(before.maxLength), Number(after.maxLength)]
    if (is >= was && is < 4 * was)
      report(field, 'major', `maxLength ${is} counts bytes instead of characters`)
  }
}

// If a part, or the contract, names no media type, any is meant.
function compareMediaTypes(field: Spot, { mediaTypes: was }: Field, { mediaTypes: is }: Field): void {
  if (was.join() === is.join()) return
  const isWithin = (some: readonly string[], others: readonly string[]) =>
    others.length === 0 ||
    (some.length > 0 && some.every((each) => others.some((other) => accepts(other, each))))
  const effects: Effect[] = [
    ...(isWithin(was, is) ? [] : ['narrows' as const]),
    ...(isWithin(is, was) ? [] : ['widens' as const]),
  ]
  const shown = (types: readonly string[]) => types.join(' or ') || 'any'
  reportEffect(field, effects, `media type of its parts ${shown(was)} -> ${shown(is)}`)
}

// Makes a single value a list of one.
function withLists(
  schema: Spot,
  names: readonly string[],
  { was, is }: { readonly was: Form; readonly is: Form },
): Spot {
  const { sources } = schema.comparison
  const listed = (node: Node, form: Form): Node => {
    const entries = names
      .filter((name) => !fieldIn(form, name).isList)
      .map((name) => {
        const { default: value, ...items } = (partOf(node, name) ?? {}) as Node
        return [
          name,
          {
            type: 'array',
            items,
            minItems: 1,
            maxItems: 1,
            ...(value !== undefined && { default: [value] }),
          },
        ]
      })
    const copy = { ...node, properties: { ...(node.properties as Node), ...Object.fromEntries(entries) } }
    sources.set(copy, [node])
    return copy
  }
  return { ...schema, before: listed(schema.before, was), after: listed(schema.after, is) }
}
