// Replaces Ajv's `enum` and `const`, which compare a value with each one in the schema.

import { _, type Ajv, type Code, type KeywordCxt, type Name } from 'ajv'
import { or } from 'ajv/dist/compile/codegen/index.js'
import { isAmong } from '../../runtime/canonical.js'
import { call, make, ofSchema, type Part } from './generated-code.js'
import { replaceKeyword } from './replaced-keyword.js'

/** Replaces both keywords of an Ajv. For numbers, `exactNumber` has them. */
export function addValues(ajv: Ajv): void {
  replace(ajv, 'enum', ofSchema<readonly unknown[]>)
  replace(ajv, 'const', (cxt) => {
    const { value, code } = ofSchema<unknown>(cxt)
    return { value: [value], code: _`[${code}]` }
  })
}

function replace(ajv: Ajv, keyword: string, valuesOf: (cxt: KeywordCxt) => Part<readonly unknown[]>): void {
  replaceKeyword(ajv, keyword, (cxt) => {
    const values = valuesOf(cxt)
    cxt.pass(textTest(cxt.data, values.value) ?? call(cxt, make(cxt, isAmong, values), cxt.data))
  })
}

// For up to so many values, comparing a string with each takes less time than a look-up.
const fewValues = 8

function textTest(data: Name, values: readonly unknown[]): Code | undefined {
  const isFew = values.length > 0 && values.length <= fewValues
  if (!isFew || !values.every((each) => typeof each === 'string')) return undefined
  return or(...values.map((each) => _`${data} === ${each}`))
}
