// The keyword `exactNumber` (exact-numbers.ts).

import { _, type Ajv } from 'ajv'
import { createAllows, createMessage, type NumberMode, type Rules } from '../../values/exact-numbers.js'
import { call, literal, make, ofSchema } from './generated-code.js'

/**
 * Adds the `exactNumber` keyword to an Ajv. It converts integers of a 64-bit format to bigint, and any other
 * number to number. As code: of a function, Ajv (8.20) copies the errors, and makes the path of every value.
 */
export function addExactNumber(ajv: Ajv, mode: NumberMode): void {
  ajv.addKeyword({
    keyword: 'exactNumber',
    schemaType: 'object',
    error: { message: ({ params }) => _`${params.message}` },
    code(cxt) {
      const { data, it } = cxt
      const rules = ofSchema<Rules>(cxt)
      // Made of this only where an error is created, which is not so in an alternative or a condition.
      cxt.setParams({ message: call(cxt, make(cxt, createMessage, rules, literal(mode)), data) })
      const isChanged = mode !== 'check' && rules.value.isCondition !== true
      const place = isChanged ? [it.parentData, _`${it.parentDataProperty}`] : []
      cxt.pass(call(cxt, make(cxt, createAllows, rules, literal(mode)), data, ...place))
    },
  })
}
