// Replaces Ajv's `maxLength` and `minLength`, which count the characters of each string. The number of
// characters lies between half of `length` and `length`, so most strings need no count. Also replaces
// `pattern`: for strings without NUL, and for strings that may be too long for the pattern.

import { _, type Ajv, type Code, type KeywordCxt } from 'ajv'
import { useFunc } from 'ajv/dist/compile/util.js'
import ucs2lengthModule from 'ajv/dist/runtime/ucs2length.js'
import { usePattern } from 'ajv/dist/vocabularies/code.js'
import { replaceKeyword, type WriteKeyword } from './replaced-keyword.js'

const { default: ucs2length } = ucs2lengthModule

/** Replaces the keywords of an Ajv. */
export function addTextKeywords(ajv: Ajv): void {
  // They run in their former order: a pattern never runs on a string that is too long.
  const replace = (keyword: string, code: WriteKeyword) =>
    replaceKeyword(ajv, keyword, code, { before: 'format' })
  replace('maxLength', (cxt) => cxt.fail(isLonger(cxt, cxt.schema)))
  replace('minLength', (cxt) => cxt.fail(isShorter(cxt, cxt.schema)))
  replace('pattern', (cxt, own) => {
    if (withoutNul.includes(cxt.schema)) cxt.fail(_`${cxt.data}.includes("\\0")`)
    else if (ajv.opts.allErrors === true) failUnlessTooLong(cxt)
    else own()
  })
}

// Strings that PostgreSQL can store. `includes` judges them in half the time of the pattern.
const withoutNul: readonly unknown[] = ['^[^\\x00]*$', '^[^\\u0000]*$']

// `maxLength` may be all that bounds the time of a pattern. With `allErrors`, Ajv would run the pattern after
// `maxLength` has failed; otherwise it stops there by itself.
function failUnlessTooLong(cxt: KeywordCxt): void {
  const { maxLength } = cxt.parentSchema as { readonly maxLength?: number }
  const fails = _`!${usePattern(cxt, cxt.schema)}.test(${cxt.data})`
  cxt.fail(maxLength === undefined ? fails : _`!(${isLonger(cxt, maxLength)}) && ${fails}`)
}

function isLonger(cxt: KeywordCxt, most: number): Code {
  return _`${cxt.data}.length > ${most} && ${characters(cxt)} > ${most}`
}

function isShorter(cxt: KeywordCxt, least: number): Code {
  const { data } = cxt
  const isShort = _`${data}.length < ${least}`
  return least <= 1
    ? isShort
    : _`${isShort} || ${data}.length < ${2 * least} && ${characters(cxt)} < ${least}`
}

function characters({ gen, data }: KeywordCxt): Code {
  return _`${useFunc(gen, ucs2length)}(${data})`
}
