// What a document leaves to its readers, decided in it once, so that validators, types, the client and
// contract-diff agree: the type of a schema without `type`, the values of a discriminator, the default of an
// `allOf`, and fields beside a `$ref` that do not count.

import { ofArrays, ofObjects } from '../../document/allowed-types.js'
import type { Pointer, Problem } from '../../document/contract-error.js'
import {
  mapMembers,
  type Nesting,
  outermost,
  pathItemFields,
  referenceFields,
  schemaKeywords,
} from '../../document/keywords.js'
import { pointerTo } from '../../document/pointer.js'
import { type Node, nodesOf, Reader } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import { decideParameter, decideStatuses } from './decided-operations.js'
import { withMapping } from './discriminator.js'

/** A part of a document that describes a value, or nothing. */
interface Part {
  readonly at: Pointer
  readonly nesting: Nesting
  /** Whether schemas around it already say the type of the same value. */
  readonly isTyped: boolean
  /** Whether it only decides if other schemas apply. */
  readonly isCondition: boolean
}

/**
 * The document with each such decision written out, and a sentence with its place for each. The document
 * itself is returned if there is none.
 */
export function withDecisions(document: object): {
  readonly document: object
  readonly decided: readonly Problem[]
} {
  const decided: Problem[] = []
  let isChanged = false
  const isOld = isOpenApi30(document)
  const reader = new Reader(document)
  const read = (value: unknown, part: Part): unknown => {
    const { at, nesting } = part
    if (nesting.isData || typeof value !== 'object' || value === null) return value
    const note = (text: string) => decided.push({ text: `${pointerTo(at)} ${text}`, at })
    const own = decideMap(value, part, note) ?? decide(reader, value as Node, part, isOld, note)
    isChanged ||= own !== value
    return mapMembers(own, nesting, (each, inner, key) => read(each, within(part, own, key, inner)))
  }
  const copy = read(document, { at: [], nesting: outermost, isTyped: false, isCondition: false })
  return { document: isChanged ? (copy as object) : document, decided }
}

function within(
  { at, nesting, isTyped, isCondition }: Part,
  value: object,
  key: string,
  inner: Nesting,
): Part {
  const part = { at: [...at, key], nesting: inner }
  if (nesting.isMap || Array.isArray(value)) return { ...part, isTyped, isCondition }
  const keyword = schemaKeywords.get(key)
  if (keyword === undefined || keyword.appliesTo === 'nothing')
    return { ...part, isTyped: false, isCondition: false }
  const isSame = keyword.appliesTo === 'value'
  return {
    ...part,
    isTyped: isSame && (isTyped || sayType.some((each) => each in value)),
    isCondition: isCondition || keyword.isCondition,
  }
}

const sayType = ['type', 'const', 'enum']

// Undefined for what is no map or array.
function decideMap(value: object, { at, nesting }: Part, note: (text: string) => void): object | undefined {
  if (!nesting.isMap) return Array.isArray(value) ? value : undefined
  return nesting.of === 'responses' ? decideStatuses(value as Node, at, note) : value
}

function decide(reader: Reader, node: Node, part: Part, isOld: boolean, note: (text: string) => void): Node {
  if (typeof node.$ref === 'string')
    return withDefault(reader, withoutSiblings(node, part.nesting, isOld, note), isOld)
  if (part.nesting.of === 'parameters') return decideParameter(reader, node, note)
  const { schema: mapped, ignored } = withMapping(reader, node, pointerTo(part.at))
  for (const text of ignored) note(`${text}: it is ignored`)
  const schema = withDefault(reader, mapped, isOld)
  // A condition is true of any other value; so is what adds to a schema with a type.
  const isDecided = part.isTyped || part.isCondition || sayType.some((each) => each in node)
  return isDecided ? schema : withType(schema, note)
}

// A default is filled in where a property is declared, and no reader looks for it in an `allOf`.
function withDefault(reader: Reader, schema: Node, isOld: boolean): Node {
  const isAlone = Object.keys(schema).length === 1
  if (schema.default !== undefined || (isAlone && '$ref' in schema)) return schema
  let value: unknown
  const parts = new Set([schema]) // a Set iterates over what is added meanwhile, too
  for (const part of parts) {
    const { $ref, ...siblings } = part
    const isReference = typeof $ref === 'string'
    if (isReference) parts.add(reader.node({ $ref }))
    if (isReference && isOld) continue
    if (siblings.readOnly === true) return schema // it is not in requests
    if (value === undefined) value = siblings.default
    for (const each of nodesOf(siblings.allOf)) parts.add(each)
  }
  return value === undefined ? schema : { ...schema, default: value }
}

function withType(schema: Node, note: (text: string) => void): Node {
  const implied = [impliedBy(schema, 'object', ofObjects), impliedBy(schema, 'array', ofArrays)].flat()
  const [first] = implied
  if (first === undefined) return schema
  const types = implied.map(({ type }) => type)
  note(`has ${first.keyword} and no type: it is read as an ${types.join(' or ')}`)
  return { type: types.length > 1 ? types : types[0], ...schema }
}

function impliedBy(node: Node, type: string, keywords: readonly string[]) {
  // `required: true` is no keyword of a schema.
  const keyword = keywords.find((each) => {
    return typeof node[each] === 'object' || (typeof node[each] === 'boolean' && each !== 'required')
  })
  return keyword === undefined ? [] : [{ type, keyword }]
}

// OpenAPI 3.0.3, section 4.7.23, and 3.1.1, section 4.8.23. A path item may have fields beside its `$ref`.
function withoutSiblings(node: Node, { of }: Nesting, isOld: boolean, note: (text: string) => void): Node {
  if (pathItemFields.has(of) || !(isOld || referenceFields.has(of))) return node
  const ignored = Object.keys(node).filter((key) => !/^(\$ref|summary|description|x-.*)$/.test(key))
  if (ignored.length === 0) return node
  const names = ignored.join(', ')
  note(`has fields beside its $ref, which OpenAPI ${isOld ? '3.0 ' : ''}ignores: ${names}`)
  return Object.fromEntries(Object.entries(node).filter(([key]) => !ignored.includes(key)))
}
