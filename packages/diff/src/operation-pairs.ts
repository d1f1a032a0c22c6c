// Matches the operations of both documents by what a client sends: the method, and the path of the URL.

import { operationsIn, Reader, readPrefix } from 'contract-engine/tools'
import type { Spot } from './comparison.js'
import type { Node } from './node.js'
import { resolve } from './references.js'

/** An operation of one document. */
export interface Operation {
  readonly method: string
  /** The path as in `paths`. */
  readonly path: string
  /** The path that a client sends, which begins with that of the servers. */
  readonly url: string
  /** The path item. */
  readonly item: Node
  readonly node: Node
}

/** The same operation in both documents. */
export interface OperationPair {
  readonly was: Operation
  readonly is: Operation
}

/** The operations of two documents. */
export interface OperationPairs {
  readonly kept: readonly OperationPair[]
  readonly removed: readonly Operation[]
  readonly added: readonly Operation[]
}

/**
 * Matches operations by their URLs, and then by their paths, because another path of the servers moves all
 * operations at once.
 */
export function pairOperations(root: Spot): OperationPairs {
  const [removed, added] = [operationsOf(root, root.before), operationsOf(root, root.after)]
  const kept: OperationPair[] = []
  for (const keyOf of [urlKey, pathKey]) {
    const byKey = new Map([...added].map((each) => [keyOf(each), each]))
    for (const was of [...removed]) {
      const is = byKey.get(keyOf(was))
      if (is === undefined) continue
      kept.push({ was, is })
      removed.delete(was)
      added.delete(is)
    }
  }
  return { kept, removed: [...removed], added: [...added] }
}

/**
 * Returns a path without the names of its parameters, which are not sent: `/pets/{id}` equals
 * `/pets/{petId}`.
 */
export function nameless(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}')
}

function urlKey({ method, url }: Operation): string {
  return `${method} ${nameless(url)}`
}

function pathKey({ method, path }: Operation): string {
  return `${method} ${nameless(path)}`
}

/** Returns the operations of a normalised document, in its order. */
export function operationsOf({ comparison }: Spot, document: Node): Set<Operation> {
  const prefix = prefixOf(document)
  const paths = resolve(comparison, document, document.paths)
  const items = Object.entries(paths).filter(([path]) => !path.startsWith('x-'))
  return new Set(
    items.flatMap(([path, value]) => {
      const item = resolve(comparison, document, value)
      return operationsIn(item).map(([method, operation]) => {
        const node = resolve(comparison, document, operation)
        return { method, path, url: urlOf(prefix, path), item, node }
      })
    }),
  )
}

/** Returns the path of the first server, which the server puts before each path. */
export function prefixOf(document: Node): string {
  return readPrefix(new Reader(document))
}

/** Returns the paths of the URLs of all operations of a parsed document. */
export function urlsOf(document: Node): string[] {
  const prefix = prefixOf(document)
  const paths = Object.keys(new Reader(document).node(document.paths)).filter(
    (path) => !path.startsWith('x-'),
  )
  return paths.map((path) => urlOf(prefix, path))
}

function urlOf(prefix: string, path: string): string {
  const url = `${prefix}${path}`
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
