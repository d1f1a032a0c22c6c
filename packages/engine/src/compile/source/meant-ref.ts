// Guesses what a `$ref` that leads nowhere was meant to be.

import { isNode } from '../../document/keywords.js'
import { pointerKeys, pointerTo } from '../../document/pointer.js'
import { nodeOf } from '../../document/reader.js'
import { nearest } from '../../lib/misspelt.js'

/**
 * Returns `: did you mean #/components/schemas/Pet?`, or an empty text.
 * @param document the file that it leads into
 */
export function hintAt(document: object | undefined, ref: string): string {
  const keys = document === undefined ? undefined : meantKeys(document, ref)
  const file = ref.includes('#') ? ref.split('#', 1)[0] : ''
  return keys === undefined ? '' : `: did you mean ${file}${pointerTo(keys)}?`
}

// Tries the pointer with and without `#`, which is easily left off, and with each key as the document spells
// it. Otherwise looks for a component of the same name.
function meantKeys(document: object, ref: string): readonly string[] | undefined {
  const [file = '', pointer = file] = ref.split('#', 2)
  const keys = pointerKeys(`/${pointer.replace(/^\/+/, '')}`) ?? []
  const found = keys.length > 1 || ref.includes('#') ? spelt(document, keys) : undefined
  if (found !== undefined) return found
  const name = keys.at(-1) ?? ''
  const { components } = nodeOf(document)
  const kinds = Object.entries(nodeOf(components)).filter(([, map]) => isNode(map))
  return kinds
    .map(([kind, map]) =>
      spelt(document, ['components', kind, nearest(name, Object.keys(nodeOf(map))) ?? name]),
    )
    .find((each) => each !== undefined)
}

function spelt(document: object, keys: readonly string[]): readonly string[] | undefined {
  const found: string[] = []
  let value: unknown = document
  for (const key of keys) {
    const own = nodeOf(value)
    const name = Object.hasOwn(own, key) ? key : nearest(key, Object.keys(own))
    if (name === undefined) return undefined
    found.push(name)
    value = own[name]
  }
  return found
}
