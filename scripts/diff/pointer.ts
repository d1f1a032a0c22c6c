// What a local `$ref` leads to (RFC 6901).

import * as pointer from '../../src/contract/pointer.js'
import { DiffError } from './diff-error.js'
import type { Node } from './node.js'

/**
 * The part of a document that a reference names.
 * @throws {DiffError} where there is none
 */
export function lookUp(document: Node, ref: string): unknown {
  const target = pointer.resolvePointer(document, ref)
  if (target === undefined) throw new DiffError(`$ref ${ref} leads nowhere`)
  return target
}
