// Properties named like those every JavaScript object inherits, such as `constructor` and `toString`: reading
// an absent one would find the inherited value.

import type { Schema } from '../document/contract.js'
import { type AnySchema, mapSchemas } from '../document/keywords.js'

/** Whether a schema declares such a property. */
export function hasInheritedName({ properties = {} }: Schema): boolean {
  return Object.keys(properties as object).some((name) => name in Object.prototype)
}

/** Removes the prototype of an object that is read. */
export function removePrototype(value: object): void {
  Object.setPrototypeOf(value, null)
}

/**
 * A schema with `nullPrototype` in every subschema that declares such a property.
 * @throws {Error} if a property is called `__proto__`
 */
export function withNullPrototypes<Each extends AnySchema>(schema: Each): Each {
  return mapSchemas(schema, (each, { isCondition }) => {
    checkNames(each)
    return hasInheritedName(each) && !isCondition ? { ...each, nullPrototype: true } : each
  })
}

function checkNames({ properties = {} }: Schema): void {
  if (Object.hasOwn(properties as object, '__proto__'))
    throw new Error('a property is called __proto__, a name that JavaScript reserves')
}
