// Fields that are called as what every object of JavaScript has: `constructor`, `toString`. Where one is absent, reading it gives that.

import type { Ajv } from 'ajv'
import type { Schema } from '../contract/types.js'
import { type AnySchema, mapSchemas, type NumberMode } from './exact-numbers.js'

/** Whether a schema names such a field. */
export function hasInheritedName({ properties = {} }: Schema): boolean {
  return Object.keys(properties as object).some((name) => name in Object.prototype)
}

/** Teaches Ajv the `bare` keyword: objects that are read inherit nothing. */
export function addBare(ajv: Ajv, mode: NumberMode): void {
  const validate = (_: true, value: object) => {
    if (mode !== 'check') Object.setPrototypeOf(value, null)
    return true
  }
  ajv.addKeyword({ keyword: 'bare', type: 'object', schemaType: 'boolean', modifying: true, validate })
}

/** The same schema, with `bare` wherever it names such a field. */
export function withBare<Each extends AnySchema>(schema: Each): Each
export function withBare(schema: AnySchema): AnySchema {
  return mapSchemas(schema, (each, isCondition) => {
    checkNames(each)
    return hasInheritedName(each) && !isCondition ? { ...each, bare: true } : each
  })
}

function checkNames({ properties = {} }: Schema): void {
  for (const [name, schema] of Object.entries(properties as Record<string, AnySchema>)) {
    if (name === '__proto__')
      throw new Error('a field is called __proto__, a name that JavaScript keeps for itself')
    // Ajv takes what every object has for the field's value.
    if (name in Object.prototype && typeof schema === 'object' && schema.default !== undefined)
      throw new Error(`the field ${name} cannot have a default, for every object of JavaScript has one`)
  }
}
