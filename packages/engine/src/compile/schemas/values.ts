// Replaces Ajv's `enum` and `const`, which compare a value with each that the schema lists.

import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import constKeyword from 'ajv/dist/vocabularies/validation/const.js'
import enumKeyword from 'ajv/dist/vocabularies/validation/enum.js'
import { isAmong } from '../../values/canonical.js'
import { call, make, ofSchema, type Part } from './generated-code.js'

/** Replaces both keywords of an Ajv. Those of schemas for numbers are in `exactNumber`. */
export function addValues(ajv: Ajv): void {
  replace(ajv, enumKeyword.default as CodeKeywordDefinition, ofSchema<readonly unknown[]>)
  replace(ajv, constKeyword.default as CodeKeywordDefinition, (cxt) => {
    const { value, code } = ofSchema<unknown>(cxt)
    return { value: [value], code: _`[${code}]` }
  })
}

function replace(
  ajv: Ajv,
  { code: _code, ...definition }: CodeKeywordDefinition,
  valuesOf: (cxt: KeywordCxt) => Part<readonly unknown[]>,
): void {
  ajv.removeKeyword(String(definition.keyword))
  ajv.addKeyword({
    ...definition,
    code: (cxt) => cxt.pass(call(cxt, make(cxt, isAmong, valuesOf(cxt)), cxt.data)),
  })
}
