// The keyword `pattern`, where all errors are reported.

import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { useFunc } from 'ajv/dist/compile/util.js'
import ucs2lengthModule from 'ajv/dist/runtime/ucs2length.js'
import { usePattern } from 'ajv/dist/vocabularies/code.js'
import patternModule from 'ajv/dist/vocabularies/validation/pattern.js'
import { defaultOf } from './common-js.js'

const { default: ucs2length } = ucs2lengthModule
const patternKeyword: CodeKeywordDefinition = defaultOf(patternModule)

/**
 * Has an Ajv that reports all errors match no text that is longer than its `maxLength`, which may be all that
 * bounds the time of a pattern. Any other Ajv stops there by itself.
 */
export function addBoundedPatterns(ajv: Ajv): void {
  if (ajv.opts.allErrors !== true) return
  ajv.removeKeyword('pattern')
  const code = (cxt: KeywordCxt) => {
    const { maxLength = Number.POSITIVE_INFINITY } = cxt.parentSchema as { readonly maxLength?: number }
    const isShort = _`${useFunc(cxt.gen, ucs2length)}(${cxt.data}) <= ${maxLength}`
    cxt.fail(_`${isShort} && !${usePattern(cxt, cxt.schema)}.test(${cxt.data})`)
  }
  ajv.addKeyword({ ...patternKeyword, before: 'format', code })
}
