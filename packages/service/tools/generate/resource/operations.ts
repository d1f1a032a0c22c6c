// The operations of a resource: what each does, by its method, its path and the schema of its response.

import type { Contract, Operation } from 'contract-engine'
import { nodeOf, type Reader, type Response } from 'contract-engine/tools'

/** What an operation does with a resource. */
export type Role = 'create' | 'get' | 'list' | 'change' | 'remove'

export type Operations = Readonly<Partial<Record<Role, Operation>>>

export interface Found {
  /** The path of the list: `/shops`. */
  readonly place: string
  readonly operations: Operations
  /** The other operations of its paths. */
  readonly others: readonly Operation[]
}

/** The operations of what is of a schema; undefined if none adds, gets, lists or changes it. */
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

// By the response that is of the schema, or is a list of it.
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

// A change and a deletion may respond with nothing.
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

/** The response of an operation that has done what was asked. */
export function successOf({ responses }: Operation): Response | undefined {
  return [...responses.values()].find(({ status }) => /^2\d\d$/.test(status))
}

/** The schema of the JSON among contents. */
export function jsonSchemaIn(contents: Response['contents'] | undefined): unknown {
  return contents?.find(({ kind }) => kind === 'json')?.schema
}

/** The name of the schema that one refers to. */
export function refName(schema: unknown): string | undefined {
  const { $ref } = nodeOf(schema)
  const [, name] = /^#\/components\/schemas\/([^/]+)$/.exec(String($ref)) ?? []
  return name
}

/** Whether an operation declares a header of its own for what it responds with: one that a handler sets. */
export function setsHeader(operation: Operation, name: string): boolean {
  const headers = successOf(operation)?.headers ?? []
  return headers.some((each) => each.name.toLowerCase() === name.toLowerCase() && !each.setByServer)
}

/** Whether an operation takes `If-Match`. */
export function takesIfMatch({ parameters }: Operation): boolean {
  return parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === 'if-match')
}

/** The name of the parameter at the end of an operation's path. */
export function parameterOf({ path }: Operation): string {
  return /\{([^{}]+)\}$/.exec(path)?.[1] ?? ''
}
