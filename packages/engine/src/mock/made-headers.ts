// The headers of a made response: the declared headers, with the contract's examples or values of their
// schemas. It also makes the headers that another server of the contract would add by itself.

import type { Judge } from '../compile/code/compilers.js'
import { examplesOf } from '../compile/examples/given.js'
import { type ValueParts, valuesOf } from '../compile/examples/values.js'
import type { Contract, Header, Operation, Response } from '../document/contract.js'
import { operationIn } from '../document/methods.js'
import { type Node, nodeOf, type Reader } from '../document/reader.js'
import { ownError } from '../document/request-error.js'
import { isOfErrors } from '../document/responses.js'
import type { Addition } from '../index.js'
import { elementsOf } from '../lib/field-values.js'
import { hasEntityTags } from '../serve/response/entity-tags.js'

/** What headers are made from. */
export interface HeaderParts extends ValueParts {
  readonly judge: Judge
}

/** Returns the Response Object of a response in the document. */
export function responseNode(reader: Reader, operation: Operation, { key }: Response): Node {
  const item = reader.node(nodeOf(reader.document.paths)[operation.path])
  return reader.node(nodeOf(nodeOf(operationIn(item, operation.method)).responses)[key])
}

// These headers belong to the connection, or the engine itself writes them.
const unmade =
  /^(?:content-(?:type|length|encoding|range)|transfer-encoding|connection|trailer|vary|date|set-cookie)$/i
const added = /^(?:deprecation|sunset|link|allow|www-authenticate|retry-after|etag|cache-control)$/i

// `Preference-Applied` names only preferences that were applied.
function isPreference({ name }: Header): boolean {
  return /^preference-applied$/i.test(name)
}

/**
 * Returns the headers that a handler of the operation would set, and the required headers that a server would
 * set.
 */
export function madeHeaders(
  operation: Operation,
  response: Response,
  parts: HeaderParts,
): Readonly<Record<string, string>> {
  const isTagged = hasEntityTags(operation) && /^[2d]/.test(response.status)
  const made = response.headers.filter(
    (each) =>
      (!each.setByServer || each.required) &&
      (each.required || !(unmade.test(each.name) || isPreference(each))) &&
      !(isTagged && /^(?:etag|cache-control)$/i.test(each.name)) &&
      !(operation.deprecation !== undefined && /^(?:deprecation|sunset|link)$/i.test(each.name)),
  )
  const values = valuesFor(operation, response, made, parts)
  const missing = made.find(({ name, required }) => required && values[name] === undefined)
  if (missing === undefined) return values
  const place = `header ${missing.name} of ${operation.id} ${response.key}`
  throw ownError(
    'not_implemented',
    `No value was found for ${place}: give it an example that its schema allows.`,
  )
}

function valuesFor(
  operation: Operation,
  response: Response,
  headers: readonly Header[],
  parts: HeaderParts,
): Readonly<Record<string, string>> {
  const nodes = nodeOf(responseNode(parts.reader, operation, response).headers)
  const values = headers.flatMap((header) => {
    const text = sampleOf(header, parts.reader.node(nodes[header.name]), parts)
    return text === undefined ? [] : [[header.name, text] as const]
  })
  return Object.fromEntries(values)
}

/** True if a text is a valid value of a header, as it is declared. */
export function isValueOf({ name, schema }: Header, text: string, { judge }: HeaderParts): boolean {
  const isList = [schema.type].flat().includes('array')
  if (/^etag$/i.test(name) && !isEntityTag(text)) return false
  return judge('responseHeader', schema)({ value: isList ? elementsOf(text) : text })
}

// Values of headers that all clients know (RFC 9110). Their schema is often just `type: string`.
const known: Readonly<Record<string, string>> = {
  etag: '"1"',
  'last-modified': 'Wed, 25 Nov 2026 14:05:00 GMT',
  expires: 'Wed, 25 Nov 2026 14:05:00 GMT',
  'retry-after': '1',
  age: '0',
  'accept-ranges': 'bytes',
  'cache-control': 'no-cache',
  'content-disposition': 'attachment',
  'content-language': 'en',
}

function sampleOf(header: Header, node: Node, parts: HeaderParts): string | undefined {
  for (const text of samples(header, node, parts))
    if (text !== undefined && isValueOf(header, text, parts)) return text
  return undefined
}

function* samples(header: Header, node: Node, parts: HeaderParts): Generator<string | undefined> {
  const name = header.name.toLowerCase()
  for (const { value } of examplesOf(node, parts.reader)) yield headerText(value)
  // A made-up link would lead nowhere.
  if (/^(?:link|(?:content-)?location)$/.test(name) && !header.required) return
  if (Object.hasOwn(known, name)) yield known[name]
  for (const value of valuesOf(header.schema, parts)) {
    const text = headerText(value)
    yield text
    if (name === 'etag') yield `"${text}"`
  }
}

/** True if a text is an entity tag (RFC 9110, section 8.8.3). */
export function isEntityTag(text: string): boolean {
  return /^(?:W\/)?"[!\x23-\x7e\x80-\xff]*"$/.test(text)
}

// Writes a value in the style `simple`. It makes no text of an object.
function headerText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (typeof value === 'object') return undefined
  const text = String(value)
  return /^[\t -~\x80-\xff]*$/.test(text) ? text : undefined
}

/**
 * Makes what another server would add to the responses of a contract: headers that are marked
 * `x-set-by-server`, and headers that an error must have.
 */
export function madeAddition(
  { operations }: Contract,
  parts: HeaderParts,
): Required<Pick<Addition, 'headers' | 'always'>> {
  const all = [...operations.values()].flatMap(({ responses }) => [...responses.values()])
  const marked = all.flatMap(({ headers }) => headers.filter((each) => each.setByServer))
  const known = new Map<Operation, Readonly<Record<string, string>>>()
  return {
    headers: [...new Set(marked.map(({ name }) => name.toLowerCase()))],
    always: (operation) => {
      const headers = known.get(operation) ?? addedHeaders(operation, parts)
      known.set(operation, headers)
      return [headers]
    },
  }
}

function addedHeaders(operation: Operation, parts: HeaderParts): Readonly<Record<string, string>> {
  const { responses } = operation
  const statuses = [...responses.keys()]
  const found: Record<string, string> = {}
  for (const response of responses.values()) {
    const isError = isOfErrors(response.status, statuses)
    const headers = response.headers.filter(
      ({ name, required, setByServer, schema }) =>
        !added.test(name) &&
        !unmade.test(name) &&
        (isError ? required : setByServer) &&
        !(name in found) &&
        isCompilable(schema, parts),
    )
    if (/^(?:429|503)$/.test(response.status)) continue // a mock does not send these errors by itself
    Object.assign(found, valuesFor(operation, response, headers, parts))
  }
  return found
}

// False for an invalid schema, which `mount` reports with its place.
function isCompilable(schema: Header['schema'], { judge }: HeaderParts): boolean {
  try {
    return judge('responseHeader', schema) !== undefined
  } catch {
    return false
  }
}
