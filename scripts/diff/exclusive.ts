// Whether variants of a `oneOf` exclude each other, as far as their keywords and its discriminator show it.

import { isDeepStrictEqual } from 'node:util'
import { isNode, type Node } from './node.js'
import { areDisjoint, typesOf } from './simplify.js'

/** Whether no value is accepted by two of the resolved schemas: its type or a field tells them apart. */
export function areExclusive(schemas: readonly Node[]): boolean {
  return schemas.every((one, i) => schemas.slice(i + 1).every((other) => areTwoExclusive(one, other)))
}

/**
 * Whether the discriminator of a normalised schema selects one of its variants, whatever the others accept.
 * @param variants those of the schema, not resolved
 */
export function areSelected({ discriminator }: Node, variants: readonly Node[]): boolean {
  if (!isNode(discriminator)) return false
  const targets = Object.values(isNode(discriminator.mapping) ? discriminator.mapping : {})
  return variants.every(({ $ref, type }) => type === 'null' || targets.includes($ref))
}

function areTwoExclusive(one: Node, other: Node): boolean {
  if (areDisjoint([one, other]) || haveOtherValues(one, other)) return true
  const areObjects = [one, other].every((schema) => typesOf(schema).join() === 'object')
  if (!areObjects) return false
  const required = requiredOf(one).filter((name) => requiredOf(other).includes(name))
  return (
    required.some((name) => haveOtherValues(fieldOf(one, name), fieldOf(other, name))) ||
    refuses(one, other) ||
    refuses(other, one)
  )
}

function haveOtherValues({ enum: values }: Node, { enum: others }: Node): boolean {
  if (!Array.isArray(values) || !Array.isArray(others)) return false
  return !values.some((value) => others.some((other) => isDeepStrictEqual(value, other)))
}

// Whether a schema has no place for a field that the other requires.
function refuses(schema: Node, other: Node): boolean {
  if (schema.additionalProperties !== false || schema.patternProperties !== undefined) return false
  return requiredOf(other).some((name) => !(isNode(schema.properties) && name in schema.properties))
}

function fieldOf({ properties }: Node, name: string): Node {
  const field = isNode(properties) ? properties[name] : undefined
  return isNode(field) ? field : {}
}

function requiredOf({ required }: Node): string[] {
  return Array.isArray(required) ? required.map(String) : []
}
