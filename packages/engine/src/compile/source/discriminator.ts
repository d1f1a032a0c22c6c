// Decides once which values of a discriminator's property select which alternative. The result is written out
// as the mapping, which validators, types and other tools read.

import { choicesOf, extendedBy, isNode, type SchemaChoice } from '../../document/keywords.js'
import { resolvePointer } from '../../document/pointer.js'
import { type Node, nodeOf, nodesOf, type Reader } from '../../document/reader.js'

/** A schema with a discriminator, and a sentence for each part of it that is ignored. */
export interface Mapped {
  readonly schema: Node
  readonly ignored: readonly string[]
}

/**
 * Completes the mapping of a schema's discriminator (OpenAPI 3.1.1, section 4.8.25). An alternative that the
 * mapping leaves out is selected by the `const` or `enum` of its property, by the mapping of a parent in its
 * `allOf`, or by the name of its schema. A mapping to a schema that is not among the alternatives selects
 * nothing.
 * @param at finds the pointer of the schema
 */
export function withMapping(reader: Reader, schema: Node, at: () => string): Mapped {
  const { discriminator, ...others } = schema
  const [choice] = choicesOf(schema)
  if (!isNode(discriminator) || choice === undefined) return { schema, ignored: [] }
  const { written, ...own } = discriminator
  const property = String(own.propertyName)
  const alternatives = alternativesIn(reader, choice, at(), written as WrittenRefs | undefined)
  const { kept, elsewhere } = givenEntries(reader, discriminator, alternatives)
  const ignored = elsewhere.map(
    ([value, target]) => `maps ${value} to ${target}, which is none of its alternatives`,
  )
  const added = addedEntries(reader, property, alternatives, kept)
  if (added === undefined)
    return {
      schema: others,
      ignored: [...ignored, `has the discriminator ${property}, whose values overlap`],
    }
  const entries = [...kept, ...added]
  const [[, fallback] = []] = givenEntries(reader, { mapping: defaultOf(own) }, alternatives).kept
  const whole = {
    ...own,
    mapping: Object.fromEntries(entries),
    ...(fallback !== undefined && { defaultMapping: fallback }),
  }
  return { schema: { ...schema, discriminator: whole }, ignored }
}

// Returns `defaultMapping` in the form of a mapping, for `givenEntries`.
function defaultOf({ defaultMapping }: Node): Node {
  return defaultMapping === undefined ? {} : { '': defaultMapping }
}

interface Alternative {
  /** Its `$ref`, as written before the files were bundled. */
  readonly ref: string | undefined
  readonly target: Node
  /** Its `$ref`, or else its own place. */
  readonly place: string
}

type WrittenRefs = readonly (string | undefined)[]

/**
 * Returns a schema whose discriminator keeps the `$ref`s of its alternatives for the mapping: bundling
 * changes those in the alternatives, or replaces them by their targets.
 */
export function withWrittenRefs(schema: Node): Node {
  const { discriminator } = schema
  const [choice] = choicesOf(schema)
  if (!isNode(discriminator) || choice === undefined) return schema
  const written = nodesOf(choice.alternatives).map(refOf)
  return { ...schema, discriminator: { ...discriminator, written } }
}

function alternativesIn(
  reader: Reader,
  { keyword, alternatives }: SchemaChoice,
  at: string,
  written: WrittenRefs = [],
): Alternative[] {
  return nodesOf(alternatives).map((each, i) => {
    const ref = refOf(each)
    const target = ref === undefined ? each : reader.node({ $ref: ref })
    return { ref: written[i] ?? ref, target, place: ref ?? `${at}/${keyword}/${i}` }
  })
}

type Entry = readonly [value: string, target: string]

// A mapping to something that does not exist is kept: it is a mistake, which the server reports.
function givenEntries(reader: Reader, { mapping }: Node, alternatives: readonly Alternative[]) {
  const kept: Entry[] = []
  const elsewhere: Entry[] = []
  for (const [value, written] of Object.entries(nodeOf(mapping))) {
    const target = String(written)
    const named = `#/components/schemas/${target}`
    const ref = resolvePointer(reader.document, named) === undefined ? target : named
    const found = resolvePointer(reader.document, ref)
    const alternative =
      alternatives.find((each) => each.ref === target || each.place === ref) ??
      alternatives.find((each) => found !== undefined && each.target === reader.node(found)) ??
      alternatives.find((each) => found === undefined && schemaNameOf(each.ref ?? '') === schemaNameOf(ref))
    if (alternative === undefined && found !== undefined) elsewhere.push([value, target])
    else kept.push([value, alternative?.place ?? target])
  }
  return { kept, elsewhere }
}

// Returns undefined if the alternatives have values which do not tell them apart.
function addedEntries(
  reader: Reader,
  property: string,
  alternatives: readonly Alternative[],
  kept: readonly Entry[],
): Entry[] | undefined {
  const isMapped = ({ place }: Alternative) => kept.some(([, target]) => target === place)
  const others = alternatives
    .filter((each) => !isMapped(each))
    .map((each) => ({ ...each, own: valuesOf(reader, each, property) }))
  const all = [...kept.map(([value]) => value), ...others.flatMap(({ own }) => own ?? [])]
  const isUnique = (value: string) => all.indexOf(value) === all.lastIndexOf(value)
  const added: Entry[] = []
  for (const { ref, place, own } of others) {
    if (ref === undefined) continue
    const name = schemaNameOf(ref)
    const values = own?.every(isUnique) ? own : [name]
    if (own !== undefined && !values.every((value) => own.includes(value))) return undefined
    added.push(...values.map((value): Entry => [value, place]))
  }
  return added
}

// Returns the values that an alternative allows for the property, or that its parent maps to it; undefined if
// it allows any.
function valuesOf(
  reader: Reader,
  { target, place }: Alternative,
  property: string,
): readonly string[] | undefined {
  for (const part of extendedBy(target, (each) => reader.node(each))) {
    const { propertyName, mapping } = nodeOf(part.discriminator)
    const isParent = part !== target && propertyName === property
    const entries = isParent ? Object.entries(nodeOf(mapping)) : []
    const mapped = entries.filter(([, to]) => to === place || to === lastName(place))
    if (mapped.length > 0) return mapped.map(([value]) => value)
    const own = ownValues(reader, nodeOf(part.properties)[property])
    if (own !== undefined) return own
  }
  return undefined
}

function ownValues(reader: Reader, schema: unknown): readonly string[] | undefined {
  for (const each of [nodeOf(schema), reader.node(schema)]) {
    const values = 'const' in each ? [each.const] : each.enum
    if (Array.isArray(values)) return values.filter((value) => value !== null).map(String)
  }
  return undefined
}

/** Returns the `$ref` of an alternative, alone or in an `allOf` beside its siblings. */
export function refOf({ $ref, allOf }: Node): string | undefined {
  const parts = nodesOf(allOf)
  const ref = $ref ?? (parts.length === 1 ? parts[0]?.$ref : undefined)
  return typeof ref === 'string' ? ref : undefined
}

/** Returns `Dog` for `Dog`, `#/components/schemas/Dog` and `dogs.yaml#/Dog`. */
export function lastName(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

// If the reference is to a whole file, the name is the file's without its extension.
function schemaNameOf(ref: string): string {
  return lastName(ref).replace(/\.(yaml|yml|json)$/, '')
}

/** True if the property of a discriminator has values other than strings in any alternative. */
export function hasOtherThanText(reader: Reader, schema: Node): boolean {
  const property = String(nodeOf(schema.discriminator).propertyName)
  const isOther = ({ properties }: Node) => {
    const one = reader.node(nodeOf(properties)[property])
    const { type = 'string', const: constant = '', enum: values = [constant] } = one
    const isText = Array.isArray(values) && values.every((each) => typeof each === 'string')
    return !isText || ![type].flat().includes('string')
  }
  const [choice] = choicesOf(schema)
  return reader
    .list(choice?.alternatives)
    .some((each) => [...extendedBy(each, (part) => reader.node(part))].some(isOther))
}
