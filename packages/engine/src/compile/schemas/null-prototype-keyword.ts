// The keyword `nullPrototype` (inherited-names.ts).

import type { Ajv } from 'ajv'
import type { NumberMode } from '../../values/exact-numbers.js'
import { removePrototype } from '../../values/inherited-names.js'
import { call } from './generated-code.js'

/** Adds the `nullPrototype` keyword to an Ajv: it removes the prototype of objects that are read. */
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
