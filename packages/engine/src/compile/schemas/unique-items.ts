// Replaces Ajv's `uniqueItems`, which compares each item with every other unless `items` has a simple type.
// Here, equal items have an equal text, and each text is looked up among those of the items before it.

import { _, type Ajv, type KeywordCxt, str } from 'ajv'
import { duplicateIn } from '../../runtime/canonical.js'
import { call } from './generated-code.js'
import { replaceKeyword } from './replaced-keyword.js'

/** Adds the keyword to an Ajv. */
export function addUniqueItems(ajv: Ajv): void {
  replaceKeyword(ajv, 'uniqueItems', judgeItems, {
    error: { message: ({ params }) => str`must not contain an item twice, as at ${params.duplicate}` },
  })
}

function judgeItems(cxt: KeywordCxt): void {
  const { gen, data, schema } = cxt
  if (schema !== true) return
  const duplicate = gen.const('duplicate', call(cxt, duplicateIn, data))
  cxt.setParams({ duplicate })
  cxt.fail(_`${duplicate} !== undefined`)
}
