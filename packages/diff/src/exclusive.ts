// Finds out if variants of a `oneOf` exclude each other, as far as their keywords and the discriminator show
// it.

import { isNode, type Node } from './node.js'
import { acceptsAnything, areDisjoint, typesOf } from './simplify.js'
import { refusesValue } from './values.js'

/** True if no value is accepted by two of the resolved schemas: its type or a field tells them apart. */
export function areExclusive(schemas: readonly Node[]): boolean {
  return schemas.every((one, i) => schemas.slice(i + 1).every((other) => areTwoExclusive(one, other)))
}

/**
 * True if the discriminator of a normalised schema selects one of its variants, whatever the others accept.
 * @param variants the variants of the schema, not resolved
 */
export function areSelected({ discriminator }: Node, variants: readonly Node[]): boolean {
  if (!isNode(discriminator)) return false
  const targets = Object.values(isNode(discriminator.mapping) ? discriminator.mapping : {})
  return variants.every(({ $ref, type }) => type === 'null' || targets.includes($ref))
}

function areTwoExclusive(one: Node, other: Node): boolean {
  const alternatives = alternativesOf(one) ?? alternativesOf(other)
  if (alternatives !== undefined) {
    const rest = alternativesOf(one) === undefined ? one : other
    return alternatives.every((each) => areTwoExclusive(each, rest))
  }
  if (areDisjoint([one, other]) || listsRefused(one, other) || listsRefused(other, one)) return true
  const areObjects = [one, other].every((schema) => typesOf(schema).join() === 'object')
  if (!areObjects) return false
  const required = requiredOf(one).filter((name) => requiredOf(other).includes(name))
  return (
    required.some((name) => areTwoExclusive(fieldOf(one, name), fieldOf(other, name))) ||
    refuses(one, other) ||
    refuses(other, one)
  )
}

// Returns the alternatives of a schema that consists of nothing else, if none of them is a reference.
function alternativesOf({ anyOf, oneOf = anyOf, ...others }: Node): readonly Node[] | undefined {
  const isAlone = Array.isArray(oneOf) && acceptsAnything(others)
  return isAlone && oneOf.every((each) => isNode(each) && each.$ref === undefined) ? oneOf : undefined
}

// True if a schema lists its values, and the other schema refuses all of them.
function listsRefused({ enum: values }: Node, other: Node): boolean {
  return Array.isArray(values) && values.every((value) => refusesValue(other, value))
}

// True if a schema cannot have a field that the other requires.
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
