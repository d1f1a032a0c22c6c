// Finds the operations of a resource, and the role of each by its method, its path and the schema of its
// response.

import type { Contract, Operation } from 'contract-engine'
import { nodeOf, type Reader, type Response } from 'contract-engine/tools'

/** The role of an operation in a resource. */
export type Role = 'create' | 'get' | 'list' | 'change' | 'remove'

export type Operations = Readonly<Partial<Record<Role, Operation>>>

export interface Found {
  /** The path of the collection: `/shops`. */
  readonly place: string
  readonly operations: Operations
  /** The other operations of the resource's paths. */
  readonly others: readonly Operation[]
}

/**
 * Returns the operations of the resource with a schema; undefined if none adds, gets, lists or changes it.
 */
export function operationsOf(contract: Contract, reader: Reader, schema: string): Found | undefined {
  const all = [...contract.operations.values()]
  const first = all.find((each) => roleOf(reader, each, schema) !== undefined)
  if (first === undefined) return undefined
  const place = collectionOf(first)
  const here = all.filter((each) => collectionOf(each) === place)
  const operations: Partial<Record<Role, Operation>> = {}
  for (const each of here) {
    const role = roleOf(reader, each, schema) ?? roleOfSilent(each)
    if (role !== undefined) operations[role] ??= each
  }
  return { place, operations, others: here.filter((each) => !Object.values(operations).includes(each)) }
}

// Returns the role of an operation whose response has the schema, or is a list of it.
function roleOf(reader: Reader, operation: Operation, name: string): Role | undefined {
  const { method } = operation
  const schema = jsonSchemaIn(successOf(operation)?.contents)
  if (refName(schema) === name) {
    if (isOne(operation)) return ({ GET: 'get', PATCH: 'change', DELETE: 'remove' } as const)[method]
    return method === 'POST' ? 'create' : undefined
  }
  const { items } = reader.node(schema ?? {})
  return method === 'GET' && !isOne(operation) && refName(items) === name ? 'list' : undefined
}

// A change or a deletion may respond without a body.
function roleOfSilent(operation: Operation): Role | undefined {
  if (!isOne(operation) || (successOf(operation)?.contents ?? []).length > 0) return undefined
  return ({ PATCH: 'change', DELETE: 'remove' } as const)[operation.method]
}

function isOne({ path }: Operation): boolean {
  return path.endsWith('}')
}

function collectionOf(operation: Operation): string {
  const { path } = operation
  return isOne(operation) ? path.slice(0, path.lastIndexOf('/')) : path
}

/** Returns the response that reports success. */
export function successOf({ responses }: Operation): Response | undefined {
  return [...responses.values()].find(({ status }) => /^2\d\d$/.test(status))
}

/** Returns the schema of the JSON content. */
export function jsonSchemaIn(contents: Response['contents'] | undefined): unknown {
  return contents?.find(({ kind }) => kind === 'json')?.schema
}

/** Returns the name of the schema that a `$ref` names. */
export function refName(schema: unknown): string | undefined {
  const { $ref } = nodeOf(schema)
  const [, name] = /^#\/components\/schemas\/([^/]+)$/.exec(String($ref)) ?? []
  return name
}

/** True if an operation's success has such a header, and the handler must set it. */
export function setsHeader(operation: Operation, name: string): boolean {
  const headers = successOf(operation)?.headers ?? []
  return headers.some((each) => each.name.toLowerCase() === name.toLowerCase() && !each.setByServer)
}

/** True if an operation has the parameter `If-Match`. */
export function takesIfMatch({ parameters }: Operation): boolean {
  return parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === 'if-match')
}

/** Returns the name of the parameter at the end of an operation's path. */
export function parameterOf({ path }: Operation): string {
  return /\{([^{}]+)\}$/.exec(path)?.[1] ?? ''
}
