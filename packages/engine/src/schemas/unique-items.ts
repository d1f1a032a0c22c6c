// Replaces Ajv's `uniqueItems`, which compares each item with each other one unless `items` has a simple
// type: here an item is looked up among those before it, by a text that equal values have in common.

import { _, type Ajv, str } from 'ajv'
import { identityOf } from './canonical.js'
import { call } from './generated-code.js'

/** Adds the keyword to an Ajv. */
export function addUniqueItems(ajv: Ajv): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    code(cxt) {
      const { gen, data, schema } = cxt
      if (schema !== true) return
      const duplicate = gen.const('duplicate', call(cxt, duplicateIn, data))
      cxt.setParams({ duplicate })
      cxt.fail(_`${duplicate} !== undefined`)
    },
    error: { message: ({ params }) => str`must not contain an item twice, as at ${params.duplicate}` },
  })
}

// The index of the first item that is equal to one before it.
function duplicateIn(items: readonly unknown[]): number | undefined {
  if (items.length < 2) return undefined
  const seen = new Set<string>()
  for (const [i, item] of items.entries()) {
    const text = identityOf(item)
    if (seen.has(text)) return i
    seen.add(text)
  }
  return undefined
}
