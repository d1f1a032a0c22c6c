// The operations of the document, where they are mounted, and what would keep the server from serving them as they
// are written.

import { misspelt } from '../lib/misspelt.js'
import { readContents } from './content.js'
import type { Problem } from './contract-error.js'
import { defaultRequestId } from './defaults.js'
import { readDeprecation } from './deprecation.js'
import { knownExtensions } from './extensions.js'
import { essence, isMediaType } from './media-types.js'
import { moduleName, namesIn, servedMethods, withRouteNames } from './names.js'
import { readParameters } from './parameters.js'
import type { Node, Reader } from './reader.js'
import { readResponses } from './responses.js'
import { waysIn } from './security.js'
import { checkServers, readPrefix } from './servers.js'
import type { Contract, Operation, Schema } from './types.js'

const otherMethods = ['trace', 'query']

/** A problem of an operation, in words that begin with its place: its id, unless another is given. */
export function problemOf({ id, path, method }: Operation, text: string, place = id): Problem {
  return { text: `${place}: ${text}`, at: ['paths', path, method.toLowerCase()] }
}

/** Reads and checks every operation. */
export function readOperations(reader: Reader): Pick<Contract, 'prefix' | 'operations' | 'securitySchemes'> {
  const operations = new Map<string, Operation>()
  for (const [path, value] of Object.entries(reader.node(reader.document.paths))) {
    if (path.startsWith('x-')) continue
    const item = reader.within(['paths', path], () => readItem(reader, path, value))
    reader.within(['paths', path], () => checkPath(reader, path, item))
    for (const method of servedMethods) {
      if (item[method] === undefined) continue
      reader.within(['paths', path, method], () => {
        const operation = readOperation(reader, path, method, item, reader.node(item[method]))
        if (operations.has(operation.id)) reader.problem(`two operations are called ${operation.id}`)
        operations.set(operation.id, operation)
      })
    }
  }
  checkNames(reader, operations)
  checkRoutes(reader, operations)
  checkSuccessors(reader, operations)
  checkLinks(reader, operations)
  const securitySchemes = new Map(Object.entries(reader.node(reader.components.securitySchemes)))
  const prefix = reader.within(['servers'], () => readPrefix(reader))
  return { prefix, operations, securitySchemes: securitySchemes as never }
}

// OpenAPI 3.1, section 4.8.9: what stands beside a `$ref` counts, and is undefined where the other has it, too.
function readItem(reader: Reader, path: string, value: unknown): Node {
  const { $ref, ...own } = value as Node
  const item = reader.node(value)
  if (typeof $ref !== 'string') return item
  const both = Object.keys(own).find((key) => key in item)
  if (both !== undefined) reader.problem(`${path} has ${both} beside a $ref to what has it, too`)
  return { ...item, ...own }
}

function checkPath(reader: Reader, path: string, item: Node): void {
  const names = namesIn(path)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) reader.problem(`${path}: the parameter ${twice} is there twice`)
  if (path.includes('}{')) reader.problem(`${path}: nothing tells parameters apart that stand side by side`)
  if (/[{}]/.test(path.replace(/\{[^{}]+\}/g, '')))
    reader.problem(`${path}: a brace stands alone or holds no name`)
  if (!path.startsWith('/')) reader.problem(`${path}: a path begins with a slash`)
  // Fastify's own marks, and what ends a path.
  if (/[*?#]/.test(decoded(path) ?? path)) reader.problem(`${path}: a path cannot hold * or ? or #`)
  if (decoded(path) === undefined) reader.problem(`${path}: a path is percent-encoded UTF-8`)
  for (const method of otherMethods) {
    if (item[method] !== undefined) reader.problem(`${method.toUpperCase()} ${path} cannot be served`)
  }
}

function routeOf(path: string): string {
  return withRouteNames(decoded(path) ?? path).replace(/\{(\w+)\}/g, ':$1')
}

function decoded(path: string): string | undefined {
  try {
    return decodeURI(path)
  } catch {
    return undefined
  }
}

function readOperation(reader: Reader, path: string, method: string, item: Node, node: Node): Operation {
  const place = `${method.toUpperCase()} ${path}`
  if (typeof node.operationId !== 'string' || node.operationId === '')
    reader.problem(`${place}: its operationId must be a text`)
  checkServers(reader, place, item, node)
  const { result, unread } = reader.gather(() => {
    checkExtensions(reader, place, item, node)
    return {
      parameters: readParameters(reader, place, path, item, node),
      body: readBody(reader, place, method, node),
      responses: readResponses(reader, place, node),
      security: readSecurity(reader, place, node),
    }
  })
  const operation: Operation = {
    id: String(node.operationId),
    name: moduleName(String(node.operationId)),
    method: method.toUpperCase(),
    summary: node.summary as string | undefined,
    path,
    route: routeOf(path),
    ...result,
    unread,
    deprecation: node.deprecated === true ? readDeprecation(reader, place, node) : undefined,
    isIdempotent: node['x-idempotent'] === true,
    definition: node,
  }
  checkIdempotency(reader, place, node['x-idempotent'], operation)
  return operation
}

// What callers need to know to use it, and the server to keep it.
function checkIdempotency(reader: Reader, place: string, mark: unknown, operation: Operation): void {
  if (mark === undefined || mark === false) return
  const { method, parameters, responses, security } = operation
  const isTaken = parameters.some(
    (each) => each.in === 'header' && each.name.toLowerCase() === 'idempotency-key',
  )
  const faults: [isFault: boolean, text: string][] = [
    [mark !== true, 'must be true or false'],
    [['GET', 'HEAD', 'OPTIONS'].includes(method), `is for what changes something, and ${method} does not`],
    [!isTaken, 'needs the header parameter Idempotency-Key'],
    [!isDeclared(responses, '409'), 'needs an answer 409, for while the first request is under way'],
    [!isDeclared(responses, '422'), 'needs an answer 422, for a key that belongs to another request'],
    [
      security.length === 0 || security.some((each) => each.length === 0),
      'needs to know who calls: security',
    ],
  ]
  for (const [isFault, text] of faults) if (isFault) reader.problem(`${place}: x-idempotent ${text}`)
}

function isDeclared(responses: Operation['responses'], status: string): boolean {
  return [status, `${status[0]}xx`, 'default'].some((each) => responses.has(each))
}

/** The media type of errors, where the contract describes those of the server: the first that any operation declares for one. */
export function errorTypeOf({ operations }: Pick<Contract, 'operations'>): string {
  const responses = [...operations.values()].flatMap((operation) => [...operation.responses.values()])
  const errors = responses.filter(({ status }) => /^([45]|default)/.test(status))
  const content = errors.flatMap(({ contents }) => contents).find(({ kind }) => kind === 'json')
  return content === undefined ? 'application/json' : essence(content.mediaType)
}

/** The one schema of the header `X-Request-Id`: a request has its id before it is known which operation it is for. */
export function readRequestId(reader: Reader, { operations }: Pick<Contract, 'operations'>): Schema {
  const schemas = new Map<string, Schema>()
  for (const operation of operations.values()) {
    const headers = [...operation.responses.values()].flatMap((response) => response.headers)
    for (const { schema } of headers.filter(({ name }) => name.toLowerCase() === 'x-request-id')) {
      if (schemas.size > 0 && !schemas.has(JSON.stringify(schema)))
        noteAt(reader, operation, `${operation.id}: X-Request-Id has another schema elsewhere`)
      schemas.set(JSON.stringify(schema), schema)
    }
  }
  const [schema = defaultRequestId] = schemas.values()
  return schema
}

// OpenAPI 3.1, section 4.8.30: beside a scheme without scopes of its own stand roles, which nothing here knows of keys.
function readSecurity(reader: Reader, place: string, operation: Node): string[][] {
  const alternatives = (operation.security ?? reader.document.security ?? []) as Node[]
  const schemes = reader.node(reader.components.securitySchemes)
  for (const [name, roles] of alternatives.flatMap((each) => Object.entries(each))) {
    if (reader.node(schemes[name]).type === 'http' && Array.isArray(roles) && roles.length > 0)
      reader.unread(`${place} asks for ${name} with ${roles.join(', ')}, which the server cannot check`)
  }
  const ways = alternatives.map((alternative) => Object.keys(alternative))
  const contract = { securitySchemes: new Map(Object.entries(schemes)) as Contract['securitySchemes'] }
  const others = ways.filter((names) => waysIn({ security: [names] }, contract).length === 0)
  if (others.length < ways.length)
    for (const names of others)
      reader.leave(
        `${place} takes ${names.join(' with ')}, too, which the server cannot check: it lets nobody in by that`,
      )
  return ways
}

// The server's own that say nothing where they stand.
function checkExtensions(reader: Reader, place: string, item: Node, node: Node): void {
  const ofDocument = knownExtensions.filter((name) => name !== 'x-enumStatuses')
  const ofDeprecated = ['x-deprecated-at', 'x-sunset', 'x-successor']
  const ofOperation = ['x-idempotent', ...ofDeprecated]
  for (const name of ofDocument)
    if (name in item || name in node) reader.unread(`${place}: ${name} is for the whole document`)
  for (const name of ofOperation)
    if (name in item) reader.unread(`${place}: ${name} is for an operation, not for its path`)
  const mark = ofDeprecated.find((name) => name in node)
  if (mark !== undefined && node.deprecated !== true)
    reader.unread(`${place} has ${mark} but is not deprecated`)
  const given = Object.keys(node).filter((name) => name.startsWith('x-'))
  for (const text of misspelt(given, ofOperation)) reader.unread(`${place}: ${text}`)
}

function readBody(reader: Reader, place: string, method: string, operation: Node): Operation['body'] {
  if (operation.requestBody === undefined) return undefined
  const { content, required } = reader.node(operation.requestBody)
  if (['get', 'head'].includes(method)) {
    const text = `${place}: a requestBody has no meaning there (RFC 9110, section 9.3.1)`
    if (required === true) reader.unread(text)
    else reader.leave(`${text}, and is not taken`)
    return undefined
  }
  const { contents, left } = readContents(reader, `${place}: its body`, content, true)
  for (const text of left) reader.leave(text)
  const mediaTypes = Object.keys(reader.node(content)).filter(isMediaType)
  return { required: required === true, mediaTypes, contents }
}

// File systems take 255 bytes, of which some are for the ends of names.
const nameMax = 200

// Some file systems take names in either case for the same.
function checkNames(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  const ids = new Map<string, string>()
  for (const operation of operations.values()) {
    const { id, name } = operation
    const other = ids.get(name.toLowerCase())
    if (other !== undefined)
      noteAt(reader, operation, `${other} and ${id} would both be in the module ${name}`)
    if (name.length > nameMax)
      noteAt(
        reader,
        operation,
        `${id} is longer than the ${nameMax} characters that the name of its module may have`,
      )
    ids.set(name.toLowerCase(), id)
  }
}

// Which of `/pets/{id}` and `/pets/{petId}` was meant, nobody could say.
function checkRoutes(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  const ids = new Map<string, string>()
  for (const operation of operations.values()) {
    const { id, method, path } = operation
    const route = `${method} ${(decoded(path) ?? path).replace(/\{[^{}]+\}/g, '{}')}`
    const other = ids.get(route)
    if (other !== undefined) noteAt(reader, operation, `${other} and ${id} are both ${method} ${path}`)
    ids.set(route, id)
  }
}

function checkSuccessors(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  for (const operation of operations.values()) {
    const { id, deprecation } = operation
    const successor = deprecation?.successor
    if (successor === undefined) continue
    const problem = `${id}: its x-successor ${successor}`
    if (!operations.has(successor)) noteAt(reader, operation, `${problem} is no operation`)
    else if (operations.get(successor)?.path.includes('{'))
      noteAt(reader, operation, `${problem} has path parameters, so no link can lead there`)
  }
}

// They are for readers alone.
function checkLinks(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  for (const { id, definition } of operations.values()) {
    const links = Object.values(reader.node(definition.responses)).flatMap((response) =>
      Object.entries(reader.node(reader.node(response).links)),
    )
    for (const [name, link] of links) {
      const { operationId = id } = reader.node(link)
      if (!operations.has(String(operationId)))
        reader.leave(`${id}: its link ${name} leads to ${operationId}, which is no operation`)
    }
  }
}

function noteAt(reader: Reader, { path, method }: Operation, problem: string): void {
  reader.within(['paths', path, method.toLowerCase()], () => reader.problem(problem))
}
