// Decides once what a document leaves to its readers, so that validators, types, the client and contract-diff
// agree: the type of a schema without `type`, the values of a discriminator, the default of an `allOf`, and
// the fields beside a `$ref` that do not count.

import { ofArrays, ofObjects } from '../../document/allowed-types.js'
import type { Problem } from '../../document/contract-error.js'
import { schemaKeywords } from '../../document/keywords.js'
import { pointerTo } from '../../document/pointer.js'
import { type Node, nodesOf, Reader } from '../../document/reader.js'
import { isOpenApi30 } from '../../document/versions.js'
import { type Place, pathItemFields, pathOf, referenceFields, walk } from '../../document/walk.js'
import { decideParameter, decideStatuses } from './decided-operations.js'
import { withMapping } from './discriminator.js'

/** How a part of a document describes a value. */
interface Applied {
  /** True if schemas around it already say the type of the same value. */
  readonly isTyped: boolean
  /** True if it only decides whether other schemas apply. */
  readonly isCondition: boolean
}

const byItself: Applied = { isTyped: false, isCondition: false }

/**
 * Returns the document with each decision written out, and a sentence with its place for each. Returns the
 * document itself if nothing is to decide.
 */
export function withDecisions(document: object): {
  readonly document: object
  readonly decided: readonly Problem[]
} {
  const decided: Problem[] = []
  const isOld = isOpenApi30(document)
  const reader = new Reader(document)
  let around: { readonly own: object; readonly applied: Applied } = { own: [], applied: byItself }
  const copy = walk(document, (value, place, within) => {
    const note = (text: string) => {
      const at = pathOf(place)
      decided.push({ text: `${pointerTo(at)} ${text}`, at })
    }
    const outer = around
    const applied = appliedIn(outer.own, outer.applied, place)
    const own =
      decideMap(value, place, note) ?? decide(reader, value as Node, { place, isOld, ...applied }, note)
    around = { own, applied }
    const whole = within(own, place)
    around = outer
    return whole
  })
  return { document: copy as object, decided } // an object stays an object
}

function appliedIn(outer: object, applied: Applied, { key, around }: Place): Applied {
  if (around === undefined || around.isMap || Array.isArray(outer)) return applied
  const keyword = schemaKeywords.get(String(key))
  if (keyword === undefined || keyword.appliesTo === 'nothing') return byItself
  const isSame = keyword.appliesTo === 'value'
  return {
    isTyped: isSame && (applied.isTyped || sayType.some((each) => each in outer)),
    isCondition: applied.isCondition || keyword.isCondition,
  }
}

const sayType = ['type', 'const', 'enum']

// Returns undefined for a value that is neither a map nor an array.
function decideMap(value: object, place: Place, note: (text: string) => void): object | undefined {
  if (!place.isMap) return Array.isArray(value) ? value : undefined
  return place.of === 'responses' ? decideStatuses(value as Node, pathOf(place), note) : value
}

interface Part extends Applied {
  readonly place: Place
  readonly isOld: boolean
}

function decide(reader: Reader, node: Node, part: Part, note: (text: string) => void): Node {
  const { place, isOld, isTyped, isCondition } = part
  if (typeof node.$ref === 'string')
    return withDefault(reader, withoutSiblings(node, place, isOld, note), isOld)
  if (place.of === 'parameters') return decideParameter(reader, node, note)
  const { schema: mapped, ignored } = withMapping(reader, node, () => pointerTo(pathOf(place)))
  for (const text of ignored) note(`${text}: it is ignored`)
  const schema = withDefault(reader, mapped, isOld)
  // No type is added here: under `if`, or beside a schema that has one, a missing type means "any".
  const isDecided = isTyped || isCondition || sayType.some((each) => each in node)
  return isDecided ? schema : withType(schema, note)
}

// Readers look for a default where a property is declared, and not in an `allOf`, so it is copied there.
function withDefault(reader: Reader, schema: Node, isOld: boolean): Node {
  const { $ref, allOf } = schema
  const isAlone = allOf === undefined && ($ref === undefined || Object.keys(schema).length === 1)
  if (schema.default !== undefined || isAlone) return schema
  let value: unknown
  const parts = new Set([schema]) // the loop also visits what is added meanwhile
  for (const part of parts) {
    const { $ref, ...siblings } = part
    const isReference = typeof $ref === 'string'
    if (isReference) parts.add(reader.node({ $ref }))
    if (isReference && isOld) continue
    if (siblings.readOnly === true) return schema // such a value is not in requests
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
function withoutSiblings(node: Node, { of }: Place, isOld: boolean, note: (text: string) => void): Node {
  if (pathItemFields.has(of) || !(isOld || referenceFields.has(of))) return node
  const ignored = Object.keys(node).filter((key) => !/^(\$ref|summary|description|x-.*)$/.test(key))
  if (ignored.length === 0) return node
  const names = ignored.join(', ')
  note(`has fields beside its $ref, which OpenAPI ${isOld ? '3.0 ' : ''}ignores: ${names}`)
  return Object.fromEntries(Object.entries(node).filter(([key]) => !ignored.includes(key)))
}
