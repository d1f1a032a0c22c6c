// What a local `$ref` leads to (RFC 6901).

import { DiffError } from './diff-error.js'
import { isNode, type Node } from './node.js'

/**
 * The part of a document that a reference names.
 * @throws {DiffError} where there is none
 */
export function lookUp(document: Node, ref: string): unknown {
  const keys = ref.split('/').slice(1).map(unescapePointer)
  const start: unknown = ref.startsWith('#/') ? document : undefined
  const target = keys.reduce(
    (at, key) => (isNode(at) || Array.isArray(at) ? (at as Node)[key] : undefined),
    start,
  )
  if (target === undefined) throw new DiffError(`$ref ${ref} leads nowhere`)
  return target
}

function unescapePointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
}
