// The links of a made response, which lead to this server, relative to the request that they answer. A list
// has two pages, so that a client which follows its links comes to an end.

import type { FastifyRequest } from 'fastify'
import { type ValueParts, valuesOf } from '../compile/examples/values.js'
import type { Contract, Operation, Parameter } from '../document/contract.js'
import { nodeOf } from '../document/reader.js'
import { readParameters } from '../lib/field-values.js'
import { decodedOrSent, nameIn, pairsOf as pairTexts, queryOf, requestPath } from '../lib/request-target.js'
import { splitPair } from '../lib/texts.js'

/** A link of the header `Link` (RFC 8288). */
interface Link {
  readonly target: string
  readonly relation: string
  /** The text after the target, as it is written. */
  readonly parameters: string
}

/** The link of a list whose contract has no example of a link. */
export const nextLink: Link = { target: '', relation: 'next', parameters: '; rel="next"' }

const relations: readonly string[] = ['next', 'prev', 'previous', 'first', 'last', 'self']

/** True if a relation leads to a page of a list. */
export function isOfPages(relation: string): boolean {
  return relation.split(/\s+/).some((each) => relations.includes(each))
}

/** Returns the links in the text of a header. */
export function linksIn(header: string): Link[] {
  // Targets contain no angle brackets; quoted values may contain commas.
  const links = header.matchAll(/<([^<>]*)>((?:"(?:[^"\\]|\\.)*"|[^",<])*)/g)
  return [...links].map(([, target = '', parameters = '']) => {
    const relation = readParameters(parameters).values.get('rel') ?? ''
    return { target, relation: relation.toLowerCase(), parameters: parameters.trim() }
  })
}

/** The parameter that says where a page begins, and its values for the first and the second page. */
interface Position {
  readonly name: string
  readonly isFirst: (value: string | undefined) => boolean
  readonly second: (pageSize: number) => string
}

// Compared without separators and in lower case; of `page[after]`, only the text in brackets.
const pageNames = /^(?:page|pagenumber|pageno|pageindex|number)$/
const offsetNames = /^(?:offset|skip|startindex)$/
const cursorNames = new RegExp(
  [
    '^(?:(?:start|starting)?after(?:id)?|(?:next|page|start|end)?cursor|marker|bookmark',
    'lastid|lastkey|startkey|(?:next|page|continuation)(?:page)?token)$',
  ].join('|'),
)
const sizeNames = /^(?:limit|perpage|pagesize|size|maxresults|maxitems|top|first)$/

function plainName(name: string): string {
  return name
    .replace(/^.*\[(.+)\]$/, '$1')
    .replace(/[-_.$]/g, '')
    .toLowerCase()
}

/**
 * Returns the position of an operation's pages; undefined if no parameter says it.
 * @param example a link to a next page, as the contract has it
 */
export function positionOf(
  { parameters }: Operation,
  example: string | undefined,
  parts: ValueParts,
): Position | undefined {
  const declared = parameters.filter((each) => each.in === 'query')
  const given = new Map(pairsOf(queryOf(example ?? '')).map(({ name, value }) => [name, value]))
  const isNamed = ({ name }: Parameter) =>
    [pageNames, offsetNames, cursorNames].some((pattern) => pattern.test(plainName(name)))
  const linked = declared.filter(({ name }) => given.has(name) && !sizeNames.test(plainName(name)))
  const position =
    linked.find(isNamed) ?? declared.find(isNamed) ?? (linked.length === 1 ? linked[0] : undefined)
  return position && positionBy(position, given.get(position.name), parts)
}

function positionBy(
  { name, schema }: Parameter,
  given: string | undefined,
  parts: ValueParts,
): Position | undefined {
  const plain = plainName(name)
  const start = Number(schema.default ?? (pageNames.test(plain) ? 1 : 0))
  const isStart = (value: string | undefined) => value === undefined || Number(value) <= start
  if (pageNames.test(plain)) return { name, isFirst: isStart, second: () => String(start + 1) }
  if (offsetNames.test(plain)) return { name, isFirst: isStart, second: (size) => String(start + size) }
  const second = cursorOf(schema, given, parts)
  return second === undefined
    ? undefined
    : { name, isFirst: (value) => value === undefined, second: () => second }
}

// Returns the cursor of the contract's link, if the parameter allows it, or else a value of the schema.
function cursorOf(
  schema: Parameter['schema'],
  given: string | undefined,
  parts: ValueParts,
): string | undefined {
  const texts = given === undefined ? [] : [given, ...(/^-?\d{1,15}$/.test(given) ? [Number(given)] : [])]
  for (const value of [...texts, ...valuesOf(schema, parts)])
    if (typeof value !== 'object' && String(value) !== '' && parts.accepts(schema, value))
      return String(value)
  return undefined
}

interface Pair {
  readonly text: string
  readonly name: string
  readonly value: string
}

// Each pair also has its text as it was sent: written again, it might have another meaning.
function pairsOf(query: string): Pair[] {
  return pairTexts(query).map((text) => {
    return { text, name: nameIn(text), value: decodedOrSent(splitPair(text)[1]) }
  })
}

/** Returns the largest number of items that a page of a request may have. */
export function pageSizeOf({ parameters }: Operation, { url }: FastifyRequest): number | undefined {
  const sizes = parameters.filter((each) => each.in === 'query' && sizeNames.test(plainName(each.name)))
  if (sizes.length === 0) return undefined
  const sent = pairsOf(queryOf(url)).find(({ name }) => sizes.some((each) => each.name === name))
  const size = Number(sent?.value ?? sizes[0]?.schema.default ?? Number.NaN)
  return Number.isInteger(size) && size > 0 ? size : undefined
}

/**
 * Returns the links of the page that a request asks for, as references to this server.
 * @param links those of the contract's example
 */
export function pageLinks(
  links: readonly Link[],
  position: Position | undefined,
  operation: Operation,
  request: FastifyRequest,
  itemsCount: number,
): string {
  const pairs = pairsOf(queryOf(request.url))
  const sent = pairs.find(({ name }) => name === position?.name)?.value
  const isFirst = position === undefined || position.isFirst(sent)
  const others = pairs.filter(({ name }) => name !== position?.name).map(({ text }) => text)
  const size = pageSizeOf(operation, request) ?? Math.max(1, itemsCount)
  const next = position && [
    ...others,
    `${encodeURIComponent(position.name)}=${encodeURIComponent(position.second(size))}`,
  ]
  const own = pairs.map(({ text }) => text)
  const queries: Readonly<Record<string, readonly string[] | undefined>> = {
    next: isFirst ? next : undefined,
    prev: isFirst ? undefined : others,
    previous: isFirst ? undefined : others,
    first: others,
    last: next ?? own,
    self: own,
  }
  const written = links.flatMap(({ target, relation, parameters }) => {
    const [known] = relation.split(/\s+/).filter((each) => Object.hasOwn(queries, each))
    if (known === undefined) return [`<${target}>${parameters}`]
    const query = queries[known]
    return query === undefined ? [] : [`<${referenceTo(request, query)}>${spaced(parameters)}`]
  })
  return written.join(', ')
}

function spaced(parameters: string): string {
  return parameters.replace(/^;\s*/, '; ').replace(/[,\s]+$/, '')
}

function referenceTo(request: FastifyRequest, query: readonly string[]): string {
  return requestPath(request.url) + (query.length === 0 ? '' : `?${query.join('&')}`)
}

/**
 * Returns the URL of the resource that a request has created, as a reference to this server; undefined if the
 * contract has no path for it.
 */
export function createdAt(
  operation: Operation,
  { operations }: Contract,
  body: unknown,
  request: FastifyRequest,
  parts: ValueParts,
): string | undefined {
  const path = requestPath(request.url).replace(/\/$/, '')
  if (operation.method === 'PUT') return path
  const below = [...operations.values()].filter((each) => isBelow(each, operation))
  const item = below.find(({ method }) => method === 'GET') ?? below[0]
  if (item === undefined) return undefined
  const name = item.path.slice(item.path.lastIndexOf('{') + 1, -1)
  const parameter = item.parameters.find((each) => each.in === 'path' && each.name === name)
  const id = idOf(body, name, parameter?.schema ?? true, parts)
  return id === undefined ? undefined : `${path}/${encodeURIComponent(String(id))}`
}

function isBelow({ path, prefix }: Operation, outer: Operation): boolean {
  const start = outer.path.replace(/\/$/, '')
  return (
    prefix === outer.prefix &&
    path.startsWith(`${start}/`) &&
    /^\/\{[^/{}]+\}$/.test(path.slice(start.length))
  )
}

// Finds a field of the new resource with the name of the parameter, or `id`; also within an envelope.
function idOf(body: unknown, name: string, schema: Parameter['schema'] | true, parts: ValueParts): unknown {
  const inner = Object.values(nodeOf(body)).filter((each) => typeof each === 'object' && !Array.isArray(each))
  const names = [name, 'id', name.replace(/_?id$/i, '')]
  const own = [body, ...inner].flatMap((each) => names.map((key) => nodeOf(each)[key]))
  for (const value of [...own, ...valuesOf(schema, parts)])
    if (value !== undefined && value !== '' && typeof value !== 'object' && parts.accepts(schema, value))
      return value
  return undefined
}

/**
 * Returns a link of the contract to one of its own operations as a reference to this server; any other link
 * as it is.
 */
export function ownReference(
  target: string,
  operation: Operation,
  { operations }: Contract,
  request: FastifyRequest,
): string {
  const url = URL.canParse(target) ? new URL(target) : undefined
  if (url === undefined) return target
  const { prefix } = operation
  const path = url.pathname.startsWith(`${prefix}/`) ? url.pathname.slice(prefix.length) : undefined
  const isOwn = [...operations.values()].some((each) => path !== undefined && isOf(path, each.path))
  return isOwn ? `${baseOf(operation, request)}${path}${url.search}${url.hash}` : target
}

function isOf(path: string, template: string): boolean {
  const [own, declared] = [path.split('/'), template.split('/')]
  return own.length === declared.length && declared.every((each, i) => each.includes('{') || each === own[i])
}

// Returns the part before the operation's path, as its caller wrote it.
function baseOf({ path }: Operation, { url }: FastifyRequest): string {
  const segments = requestPath(url).split('/')
  return segments.slice(0, segments.length - path.split('/').length + 1).join('/')
}
