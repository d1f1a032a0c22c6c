// The keyword `bytes` (runtime/bytes.ts).

import { _, type Ajv } from 'ajv'
import { problemWithBytes } from '../../runtime/bytes.js'
import { call, ofSchema } from './generated-code.js'

/** Adds the `bytes` keyword to an Ajv. */
export function addBytes(ajv: Ajv): void {
  ajv.addKeyword({
    keyword: 'bytes',
    schemaType: 'object',
    error: { message: ({ params }) => _`${params.problem}` },
    code(cxt) {
      const problem = cxt.gen.const('problem', call(cxt, problemWithBytes, cxt.data, ofSchema(cxt).code))
      cxt.setParams({ problem })
      cxt.fail(_`${problem} !== undefined`)
    },
  })
}
