// Replaces Ajv's `enum` and `const`, which compare a value with each that the schema lists.

import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { isAmong } from '../../values/canonical.js'
import { call, make, ofSchema, type Part } from './generated-code.js'

/** Replaces both keywords of an Ajv. Those of schemas for numbers are in `exactNumber`. */
export function addValues(ajv: Ajv): void {
  replace(ajv, 'enum', ofSchema<readonly unknown[]>)
  replace(ajv, 'const', (cxt) => {
    const { value, code } = ofSchema<unknown>(cxt)
    return { value: [value], code: _`[${code}]` }
  })
}

function replace(ajv: Ajv, keyword: string, valuesOf: (cxt: KeywordCxt) => Part<readonly unknown[]>): void {
  const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition // Ajv has both
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    ...definition,
    code: (cxt) => cxt.pass(call(cxt, make(cxt, isAmong, valuesOf(cxt)), cxt.data)),
  })
}
