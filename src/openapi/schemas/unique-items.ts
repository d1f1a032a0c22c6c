// Replaces Ajv's `uniqueItems`, which compares each item with each other one unless `items` has a simple
// type: here an item is looked up among those before it, by a text that equal values have in common.

import { _, type Ajv, str } from 'ajv'

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
      const find = gen.scopeValue('func', { ref: duplicateIn })
      const duplicate = gen.const('duplicate', _`${find}(${data})`)
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
    const text = canonicalText(item)
    if (seen.has(text)) return i
    seen.add(text)
  }
  return undefined
}

// The same for values that are equal in JSON Schema (Core 2020-12, section 4.2.2): without the order of
// fields, and whether an integer is a number or a bigint.
function canonicalText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object' || value === null)
    return String(Number.isInteger(value) ? BigInt(value as number) : value)
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`
  const fields = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${fields
    .map(([name, each]) => `${JSON.stringify(name)}:${canonicalText(each)}`)
    .sort()
    .join()}}`
}
