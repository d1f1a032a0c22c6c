// Flattens a composed schema into parts: once an alternative is chosen wherever there are some, a value must
// be valid by each part.

import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { exactly } from '../../runtime/exact-values.js'

/** Chooses among the alternatives of a schema. */
export type ChooseWay = (ways: readonly unknown[]) => unknown

// Bounds a schema that refers to itself in place, which no value satisfies.
const partsMax = 300

/** Returns the parts of schemas; undefined if one of them allows nothing. */
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

// Requires the value by which a discriminator selects an alternative: its value in the mapping, or else the
// name of its schema.
function discriminated({ propertyName, mapping }: Node, { $ref }: Node): Node[] {
  if (typeof propertyName !== 'string' || typeof $ref !== 'string') return []
  const own = $ref.slice($ref.lastIndexOf('/') + 1)
  const [name = own] =
    Object.entries(nodeOf(mapping)).find(([, target]) => target === $ref || target === own) ?? []
  return [{ properties: { [propertyName]: { const: name } }, required: [propertyName] }]
}

// Alternatives other than null come first: they say more.
function usable(ways: readonly unknown[]): readonly unknown[] {
  const open = ways.filter((each) => each !== false)
  const [some, nulls] = [open.filter((each) => !isNull(each)), open.filter(isNull)]
  return open.length === 0 ? [false] : [...some, ...nulls]
}

function isNull(schema: unknown): boolean {
  const { type, const: only, enum: values } = nodeOf(schema)
  return type === 'null' || only === null || (Array.isArray(values) && values.every((each) => each === null))
}
