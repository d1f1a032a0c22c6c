// Replaces Ajv's `enum` and `const`, which compare a value with each that the schema lists.

import type { Ajv, CodeKeywordDefinition } from 'ajv'
import constKeyword from 'ajv/dist/vocabularies/validation/const.js'
import enumKeyword from 'ajv/dist/vocabularies/validation/enum.js'
import { isAmong } from './canonical.js'
import { call } from './generated-code.js'

/** Replaces both keywords of an Ajv. Those of schemas for numbers are in `exactNumber`. */
export function addValues(ajv: Ajv): void {
  replace(ajv, enumKeyword.default as CodeKeywordDefinition, (values) => values as readonly unknown[])
  replace(ajv, constKeyword.default as CodeKeywordDefinition, (value) => [value])
}

function replace(
  ajv: Ajv,
  { code: _, ...definition }: CodeKeywordDefinition,
  valuesOf: (schema: unknown) => readonly unknown[],
): void {
  ajv.removeKeyword(String(definition.keyword))
  ajv.addKeyword({
    ...definition,
    code: (cxt) => cxt.pass(call(cxt, isAmong(valuesOf(cxt.schema)), cxt.data)),
  })
}
