// Adapts the contract for people, as `/docs` shows it. Its description gains tables of limits, error codes
// and deprecations, and those of other parts; a deprecated operation gains its dates. Patterns are in words,
// and optional parameters lose their examples.

import { stringify } from 'lossless-json'
import type { Contract, Operation, Requirement } from '../../document/contract.js'
import { isNode } from '../../document/keywords.js'
import { operationIn } from '../../document/methods.js'
import { type OwnServer, ownServer } from '../../document/own-server.js'
import { type Node, nodeOf, Reader } from '../../document/reader.js'
import { isOpenApi32 } from '../../document/versions.js'
import { walk } from '../../document/walk.js'
import type { PageParts } from '../../serve/documents/page-parts.js'
import { type Addition, serverErrors } from '../../serve/response/additions.js'
import { namesWithin, tagsOf } from '../contract/tags.js'
import { resolved } from '../source/resolved.js'
import { exampleRequest } from './example-request.js'
import { withoutOpenApi32 } from './openapi-3.1.js'
import { samplesOf } from './samples.js'

/**
 * Returns the contract's document, adapted to the page, as JSON.
 * @param serverOf makes the server of operations, relative to the page
 */
export function pageDocument(written: Contract, parts: PageParts, serverOf: OwnServer = ownServer): string {
  const known = withoutOpenApi32(written.document)
  const contract = { ...written, document: resolved(known, (kind) => kind !== 'pathItems') }
  const document = contract.document as Node & { readonly info: Node }
  const sections = [...unshownOperations(contract), ...describedSections(written, parts)]
  const description = [document.info.description ?? '', ...sections].join('\n\n')
  // The page's Content-Security-Policy only allows requests to its own origin, whatever servers the contract
  // names.
  const servers = [serverOf(contract)]
  const groups = tagGroups(written)
  const shown = { ...document, ...groups, info: { ...document.info, description }, servers }
  const replaced = new Map([...operationsIn(contract, serverOf), ...schemesIn(contract)])
  const adapted = walk(shown, (value, place, within) => {
    const own = replaced.get(value) ?? value
    return within(place.isMap || !isNode(own) ? own : forPeople(own, contract), place)
  })
  return stringify(adapted) ?? ''
}

// Scalar 1.46 reads no OpenAPI 3.2. It gets the document in 3.1, and a table of the operations that 3.1
// cannot have.
function unshownOperations(contract: Contract): string[] {
  const shown = new Set(shownOperations(contract))
  const rows = [...contract.operations.values()]
    .filter((each) => !shown.has(each))
    .map(({ id, method, path, summary = '' }) => [`\`${method} ${path}\``, `\`${id}\``, summary])
  const text = 'The rest of this page cannot send these. [llms.txt](llms.txt) says what they take and return.'
  return rows.length === 0 ? [] : ['## Operations of other methods', table(['Request', 'Id', ''], rows), text]
}

function shownOperations({ operations, document }: Contract): Operation[] {
  const paths = nodeOf(nodeOf(document).paths)
  const isShown = ({ path, method }: Operation) => operationIn(nodeOf(paths[path]), method) !== undefined
  return [...operations.values()].filter(isShown)
}

// Nested tags become groups: one for each tag that has inner tags, and one for the rest, which Scalar would
// not show otherwise. Scalar calls operations without a tag `default`.
function tagGroups({ document, operations }: Contract): Node {
  const tags = tagsOf(nodeOf(document))
  const outer = tags.filter(({ inner }) => inner.length > 0)
  if (outer.length === 0) return {}
  const groups = outer.map((each) => ({ name: each.title, tags: namesWithin(each) }))
  const grouped = new Set(groups.flatMap((each) => each.tags))
  const used = [...operations.values()].flatMap(
    ({ definition }) => (definition.tags ?? ['default']) as string[],
  )
  const rest = [...new Set([...tags.map(({ name }) => name), ...used])].filter((name) => !grouped.has(name))
  return { 'x-tagGroups': rest.length === 0 ? groups : [...groups, { name: 'Other', tags: rest }] }
}

// The browser knows the URL of the server, and replaces this one by it.
const serverUrl = 'https://this-service.invalid'

// Returns replacements of Operation Objects: with samples, unless the author has given some, and with the
// scopes that the operation demands, which Scalar shows only in the dialog of a request.
function operationsIn(contract: Contract, serverOf: OwnServer): Map<unknown, Node> {
  const reader = new Reader(contract.document)
  const paths = nodeOf(reader.document.paths)
  const entries = shownOperations(contract).map((each) => {
    const request = exampleRequest(each, contract, reader)
    const item = nodeOf(paths[each.path])
    const operation = operationIn(item, each.method)
    const samples = request ? { 'x-codeSamples': samplesOf(request, serverUrl) } : {}
    const hasOwn = (nodeOf(operation).servers ?? item.servers) !== undefined
    const servers = hasOwn ? { servers: [serverOf(each)] } : {}
    return [operation, withScopes({ ...samples, ...nodeOf(operation), ...servers }, each)] as const
  })
  return new Map<unknown, Node>(entries)
}

// Returns replacements of Security Scheme Objects, and of their flows. Scalar makes the credential of a
// request from them.
function schemesIn({ document }: Contract): Map<unknown, Node> {
  const reader = new Reader(document)
  const schemes = Object.values(reader.node(reader.components.securitySchemes)).map((each) =>
    reader.node(each),
  )
  const entries = schemes.map((scheme) => {
    const flow = nodeOf(nodeOf(scheme.flows).authorizationCode)
    // A page cannot keep a secret, so it uses PKCE unless the author says otherwise (RFC 9700, section
    // 2.1.1).
    return scheme.type === 'openIdConnect'
      ? ([scheme, withToken(scheme)] as const)
      : ([flow, { 'x-usePkce': 'SHA-256', ...flow }] as const)
  })
  return new Map<unknown, Node>(entries)
}

// Scalar 1.46 gets the token of an OpenID issuer, but does not send it. As a bearer scheme, it asks the user
// for a token.
function withToken({ openIdConnectUrl, description }: Node): Node {
  const text = `A token of the OpenID issuer ${openIdConnectUrl}.`
  const all = description === undefined ? text : `${description}\n\n${text}`
  return { type: 'http', scheme: 'bearer', description: all }
}

function withScopes(value: Node, { security }: Operation): Node {
  if (security.flat().every(({ scopes }) => scopes.length === 0)) return value
  const { description } = value
  const text = `Security: ${securityText(security)}.`
  return { ...value, description: description === undefined ? text : `${description}\n\n${text}` }
}

/** Returns the security requirements of an operation, in Markdown: `` `key` or `login` (read) ``. */
export function securityText(security: Operation['security']): string {
  const texts = security.map((all) => all.map(requirementText).join(' and ') || 'none')
  return texts.join(' or ') || 'none'
}

function requirementText({ name, scopes }: Requirement): string {
  return `\`${name}\`${scopes.length === 0 ? '' : ` (${scopes.join(', ')})`}`
}

// Most objects are returned as they are: to copy each object and text of a large document took a second.
function forPeople(value: Node, contract: Contract): Node {
  const dated = 'x-deprecated-at' in value ? withDates(value, contract) : value
  const worded = 'x-pattern-description' in dated ? inWords(dated) : dated
  if ('itemSchema' in worded) return { schema: worded.itemSchema, ...worded } // which Scalar does not show
  return 'in' in worded ? withoutOptionalExamples(worded) : worded
}

// Scalar would send an optional parameter's example: an unwanted filter, or an `Idempotency-Key` that an
// earlier request has used.
function withoutOptionalExamples(value: Node): Node {
  const { in: location, required, example, examples, ...others } = value
  const isOptional = ['query', 'header', 'cookie'].includes(String(location)) && required !== true
  return isOptional && (example ?? examples) !== undefined ? { ...others, in: location } : value
}

/** Returns an operation, or another deprecated part, with the dates of its deprecation in the description. */
export function withDates(value: Node, contract: Contract): Node {
  const { deprecated, description = '', ...others } = value
  const { 'x-deprecated-at': since, 'x-sunset': sunset, 'x-successor': successor } = others
  if (deprecated !== true || since === undefined) return value
  const dates = [
    `Deprecated since ${since}.`,
    ...(sunset === undefined ? [] : [`It will be removed on ${sunset}.`]),
    ...(successor === undefined ? [] : [`Use ${shownOperation(String(successor), contract)} instead.`]),
  ]
  return { ...others, deprecated, description: `**${dates.join(' ')}**\n\n${description}` }
}

function inWords(value: Node): Node {
  const { pattern, 'x-pattern-description': words, description = '', ...others } = value
  if (typeof words !== 'string') return value
  const { not, ...rest } = others // a pattern may be negated twice, to hide it from tools
  return {
    ...(pattern === undefined ? rest : others),
    description: `${description} It must be ${words}.`.trim(),
  }
}

function shownOperation(id: string, { operations }: Contract): string {
  const { method, prefix, path } = operations.get(id) ?? {}
  return `\`${method} ${prefix}${path}\`` // the contract has been checked
}

/** Returns what the page says besides the contract's own description, in Markdown. */
export function describedSections(
  contract: Contract,
  { sections: others = () => [], additions = [] }: PageParts,
): readonly string[] {
  const all = [...contract.operations.values()]
  return [
    '## OpenAPI document',
    '[openapi.yaml](openapi.yaml), [openapi.json](openapi.json), ' +
      `${olderDocuments(contract)}. ` +
      '[llms.txt](llms.txt) says the same as this page, in plain text.',
    ...others().flatMap(({ title, head, rows, text }) => [`## ${title}`, table(head, rows), text]),
    '## Limits',
    table(['Request', 'Limit'], limits(all, contract)),
    '## Error codes',
    table(['Code and status', 'Meaning'], errors(contract, additions)),
    ...deprecations(all, contract),
  ]
}

function olderDocuments({ document }: Contract): string {
  const oldest = '[openapi-3.0.yaml](openapi-3.0.yaml) or [.json](openapi-3.0.json)'
  if (!isOpenApi32(document)) return `${oldest} (for tools that do not support 3.1)`
  return `[openapi-3.1.yaml](openapi-3.1.yaml), ${oldest} (for tools that do not support 3.2)`
}

function limits(
  all: readonly Operation[],
  { limits: { body, url, header }, idempotency }: Contract,
): string[][] {
  const rows = [
    ['body', `${count(body)} bytes`],
    ['URL', `${count(url)} bytes`],
    ['header section', `${count(header)} bytes`],
    ...all.flatMap((operation) => ownLimits(operation, body)),
  ]
  const stored = ['Idempotency-Key', `response stored for ${count(idempotency.keepHours)} hours`]
  return all.some(({ isIdempotent }) => isIdempotent) ? [...rows, stored] : rows
}

function ownLimits({ method, path, body, limits }: Operation, ofDocument: number): string[][] {
  const name = `\`${method} ${path}\``
  const { timeoutMs } = limits
  return [
    ...(body && limits.body !== ofDocument ? [[`body of ${name}`, `${count(limits.body)} bytes`]] : []),
    ...(timeoutMs === undefined ? [] : [[`response of ${name}`, `within ${count(timeoutMs)} ms`]]),
  ]
}

function errors(contract: Contract, additions: readonly Addition[]): string[][] {
  const { errorStatuses, describesErrors } = contract
  const statuses = describesErrors ? errorStatuses : serverErrors(contract, additions)
  const { components } = contract.document as { components?: { schemas?: { ErrorCode?: Node } } }
  const meanings = (components?.schemas?.ErrorCode?.['x-enumDescriptions'] ?? {}) as Node
  return [...statuses].map(([code, status]) => [`\`${code}\` ${status}`, String(meanings[code] ?? '')])
}

function deprecations(all: readonly Operation[], contract: Contract): readonly string[] {
  const rows = all.flatMap(({ deprecation, id }) => {
    if (deprecation === undefined) return []
    const { deprecatedAt, sunset, successor } = deprecation
    return [
      [
        shownOperation(id, contract),
        day(deprecatedAt),
        sunset ? day(sunset) : '',
        successor ? shownOperation(successor, contract) : '',
      ],
    ]
  })
  return rows.length > 0
    ? ['## Deprecated operations', table(['Operation', 'Since', 'Sunset', 'Successor'], rows)]
    : []
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\|/g, '\\|').replace(/\s+/g, ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}
