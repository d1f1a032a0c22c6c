// Replaces Ajv's `maxLength` and `minLength`, which count the characters of each text, and its `pattern` of texts
// without NUL. A text has at most its length of characters, and fewer only if it has pairs: most need no count.

import { _, type Ajv, type Code, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { useFunc } from 'ajv/dist/compile/util.js'
import ucs2lengthModule from 'ajv/dist/runtime/ucs2length.js'

const { default: ucs2length } = ucs2lengthModule

/** Replaces the keywords of an Ajv. */
export function addTextKeywords(ajv: Ajv): void {
  replace(ajv, 'maxLength', isTooLong)
  replace(ajv, 'minLength', isTooShort)
  replace(ajv, 'pattern', (cxt) =>
    withoutNul.includes(cxt.schema) ? _`${cxt.data}.includes("\\0")` : undefined,
  )
}

// What PostgreSQL can store, which `includes` judges in half the time.
const withoutNul: readonly unknown[] = ['^[^\\x00]*$', '^[^\\u0000]*$']

function replace(ajv: Ajv, keyword: string, faultOf: (cxt: KeywordCxt) => Code | undefined): void {
  const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition // Ajv has them
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    ...definition,
    keyword, // one definition is of both lengths
    before: 'format', // where they were: a pattern sees no text that is too long
    code(cxt, type) {
      const fault = faultOf(cxt)
      if (fault === undefined) definition.code(cxt, type)
      else cxt.fail(fault)
    },
  })
}

function isTooLong(cxt: KeywordCxt): Code {
  const { data, schema: most } = cxt
  return _`${data}.length > ${most} && ${characters(cxt)} > ${most}`
}

function isTooShort(cxt: KeywordCxt): Code {
  const { data, schema: least } = cxt
  const isShort = _`${data}.length < ${least}`
  return least <= 1
    ? isShort
    : _`${isShort} || ${data}.length < ${2 * least} && ${characters(cxt)} < ${least}`
}

function characters({ gen, data }: KeywordCxt): Code {
  return _`${useFunc(gen, ucs2length)}(${data})`
}
