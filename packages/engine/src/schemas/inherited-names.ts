// Properties named like those every JavaScript object inherits, such as `constructor` and `toString`: reading
// an absent one would find the inherited value.

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/contract.js'
import { type AnySchema, mapSchemas } from '../contract/keywords.js'
import type { NumberMode } from './exact-numbers.js'

/** Whether a schema declares such a property. */
export function hasInheritedName({ properties = {} }: Schema): boolean {
  return Object.keys(properties as object).some((name) => name in Object.prototype)
}

/** Adds the `nullPrototype` keyword to an Ajv: it removes the prototype of objects that are read. */
export function addNullPrototype(ajv: Ajv, mode: NumberMode): void {
  const validate = (_: true, value: object) => {
    if (mode !== 'check') Object.setPrototypeOf(value, null)
    return true
  }
  const keyword = 'nullPrototype'
  ajv.addKeyword({ keyword, type: 'object', schemaType: 'boolean', modifying: true, validate })
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
