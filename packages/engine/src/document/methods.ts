// The methods of operations: where an operation with each is in its path item, which methods are safe, and
// which cannot be served.

import { METHODS } from 'node:http'
import type { Pointer, Problem } from './contract-error.js'
import { isNode, mapValues } from './keywords.js'
import { valueAt } from './pointer.js'
import { type Node, nodeOf } from './reader.js'

/** The fields of a Path Item Object that have an operation. OpenAPI 3.2 added `query`. */
export const methodFields: readonly string[] = [
  ...['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'],
]
const others = 'additionalOperations'

/** Returns the place of an operation within its path item, by its method as a request names it. */
export function methodPlace(method: string): readonly string[] {
  return hasField(method) ? [method.toLowerCase()] : [others, method]
}

/** Returns the place of an operation in its document. */
export function operationPlace(operation: { readonly path: string; readonly method: string }): Pointer {
  return ['paths', operation.path, ...methodPlace(operation.method)]
}

/** Returns a problem at the place of an operation. */
export function problemOf(
  operation: { readonly path: string; readonly method: string },
  text: string,
): Problem {
  return { text, at: operationPlace(operation) }
}

/** Returns the operations of a path item, with their methods. */
export function operationsIn(item: Node): [method: string, operation: unknown][] {
  const present = methodFields.filter((field) => item[field] !== undefined)
  return [
    ...present.map((field): [string, unknown] => [field.toUpperCase(), item[field]]),
    ...Object.entries(nodeOf(item[others])).filter(([method]) => !hasField(method)),
  ]
}

function hasField(method: string): boolean {
  return methodFields.includes(method.toLowerCase())
}

/** Returns the operation of a path item with a method. */
export function operationIn(item: Node, method: string): unknown {
  return valueAt(item, methodPlace(method))
}

/** Returns a copy of a path item with `change` applied to each operation. */
export function mapOperations(item: Node, change: (operation: unknown, method: string) => unknown): Node {
  return mapValues(item, (each, key) => {
    if (methodFields.includes(key)) return change(each, key.toUpperCase())
    return key === others && isNode(each) ? mapValues(each, change) : each
  })
}

// The methods that are registered as safe, except OPTIONS: here, its operations may write.
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH'])

/**
 * True if an operation with the method changes nothing (RFC 9110, section 9.2.1, and the registry of
 * methods).
 */
export function isSafe(method: string): boolean {
  return safeMethods.has(method)
}

/** Why no request reaches an operation. */
export interface MethodFault {
  readonly method: string
  readonly text: string
  /** The place of the operation within its path item. */
  readonly at: readonly string[]
}

/**
 * Returns the methods that a version of Node reads. Before 20.19.3 and 22.2, Node does not read QUERY:
 * 20.19.0 does not list it; 20.19.2, 22.0 and 22.1 list it, but name the method of such a request ''.
 * @param listed the `METHODS` of that Node
 */
export function methodsRead(listed: readonly string[], version: string): ReadonlySet<string> {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const readsQuery = major === 20 ? minor * 100 + patch >= 1903 : major > 22 || (major === 22 && minor >= 2)
  return new Set(listed.filter((method) => method !== 'QUERY' || readsQuery))
}

/** The methods that the Node of this process reads. */
export const methodsOfNode = methodsRead(METHODS, process.versions.node)

/** Returns the operations of a path item that no request reaches. */
export function methodFaults(item: Node, read = methodsOfNode): MethodFault[] {
  const additional = Object.keys(nodeOf(item[others]))
  const inVain = additional.filter(hasField).map((method) => {
    const text = `the method ${method} belongs in the field ${method.toLowerCase()} of the path`
    return { method, text, at: [others, method] }
  })
  const unread = operationsIn(item).flatMap(([method]) => {
    const text = methodFault(method, read)
    return text === undefined ? [] : { method, text, at: methodPlace(method) }
  })
  return [...inVain, ...unread]
}

/** Says why no request can have a method; undefined if one can. */
export function methodFault(method: string, read = methodsOfNode): string | undefined {
  const fault = faultOf(method, read)
  return fault === undefined ? undefined : `the method ${method} ${fault}`
}

// Node closes the connection at a method that it does not know. Methods are case-sensitive (RFC 9110, section
// 9.1).
function faultOf(method: string, read: ReadonlySet<string>): string | undefined {
  if (method === 'TRACE' || method === 'CONNECT') return 'is not supported'
  if (read.has(method)) return undefined
  if (method === 'QUERY') return `is not one that Node ${process.versions.node} reads: 20.19.3 and 22.2 do`
  return 'is not one that Node reads'
}
