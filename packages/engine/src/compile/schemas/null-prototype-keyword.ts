// The keyword `nullPrototype` (runtime/inherited-names.ts).

import type { Ajv } from 'ajv'
import type { Schema } from '../../document/contract.js'
import { type AnySchema, mapSchemas } from '../../document/keywords.js'
import type { NumberMode } from '../../runtime/exact-numbers.js'
import { hasInheritedName, removePrototype } from '../../runtime/inherited-names.js'
import { call } from './generated-code.js'

/** Adds the `nullPrototype` keyword to an Ajv: it removes the prototype of objects that the server reads. */
export function addNullPrototype(ajv: Ajv, mode: NumberMode): void {
  ajv.addKeyword({
    keyword: 'nullPrototype',
    type: 'object',
    schemaType: 'boolean',
    code(cxt) {
      if (mode !== 'check') cxt.gen.code(call(cxt, removePrototype, cxt.data))
    },
  })
}

/**
 * Returns a schema with `nullPrototype` in every subschema that declares a property with an inherited name.
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
