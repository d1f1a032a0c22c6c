// A schema without what composes it: the parts that a value must all be valid by, once ways are chosen among
// its alternatives.

import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { exactly } from '../../runtime/exact-values.js'

/** Chooses among the ways of a schema. */
export type ChooseWay = (ways: readonly unknown[]) => unknown

// Of a schema that refers to itself in place, which no value meets.
const partsMax = 300

/** The parts of schemas; undefined if one of them allows nothing. */
export function flatParts(
  schemas: readonly unknown[],
  reader: Reader,
  chooseWay: ChooseWay,
): readonly Node[] | undefined {
  const parts: Node[] = []
  const add = (schema: unknown): boolean => {
    if (parts.length > partsMax || reader.isFalse(schema)) return false
    if (typeof schema !== 'object' || schema === null) return true
    const {
      $ref,
      allOf,
      oneOf,
      anyOf,
      if: condition,
      then,
      else: otherwise,
      ...own
    } = exactly(schema as Node)
    parts.push(own)
    const ways = [oneOf, anyOf].filter(Array.isArray).map((each) => chooseWay(usable(each)))
    const named = ways.flatMap((way) => discriminated(nodeOf(own.discriminator), nodeOf(way)))
    const branch = condition === undefined ? [] : chooseWay([[otherwise ?? true], [condition, then ?? true]])
    const target = typeof $ref === 'string' ? [reader.node({ $ref })] : []
    const all = Array.isArray(allOf) ? allOf : []
    return [...target, ...all, ...ways, ...named, ...(branch as unknown[])].every(add)
  }
  return schemas.every(add) ? parts : undefined
}

// The value by which a discriminator knows a way: its name in the mapping, or else that of its schema.
function discriminated({ propertyName, mapping }: Node, { $ref }: Node): Node[] {
  if (typeof propertyName !== 'string' || typeof $ref !== 'string') return []
  const own = $ref.slice($ref.lastIndexOf('/') + 1)
  const [name = own] =
    Object.entries(nodeOf(mapping)).find(([, target]) => target === $ref || target === own) ?? []
  return [{ properties: { [propertyName]: { const: name } }, required: [propertyName] }]
}

// What says more than null comes first.
function usable(ways: readonly unknown[]): readonly unknown[] {
  const open = ways.filter((each) => each !== false)
  const [some, nulls] = [open.filter((each) => !isNull(each)), open.filter(isNull)]
  return open.length === 0 ? [false] : [...some, ...nulls]
}

function isNull(schema: unknown): boolean {
  const { type, const: only, enum: values } = nodeOf(schema)
  return type === 'null' || only === null || (Array.isArray(values) && values.every((each) => each === null))
}
