// The operations of the document, where they are mounted, and what would keep the server from serving them as they
// are written.

import { misspelt } from '../lib/misspelt.js'
import { readContents } from './content.js'
import type { Problem } from './contract-error.js'
import { defaultRequestId } from './defaults.js'
import { knownExtensions } from './extensions.js'
import { essence, isMediaType } from './media-types.js'
import { isToken, moduleName, namesIn, withRouteNames } from './names.js'
import { readParameters, shapesOf } from './parameters.js'
import { lookUp } from './pointer.js'
import { type Node, nodeOf, type Reader } from './reader.js'
import { waysIn } from './security.js'
import type { Contract, Deprecation, Header, Operation, Response, Schema } from './types.js'

// What fastify-openapi-glue makes routes of.
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
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
    for (const method of methods) {
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
  const securitySchemes = new Map(Object.entries(reader.node(reader.components.securitySchemes)))
  const prefix = reader.within(['servers'], () => readPrefix(reader))
  return { prefix, operations, securitySchemes: securitySchemes as never }
}

/**
 * The document with what its operations leave out: a name, `getToysById` for `GET /toys/{id}`, and the parameters of their path, which are
 * text; and these, in words. What an operation is called and given, its module, its types, the client and the log must agree upon.
 */
export function withOmitted(document: object): { readonly document: object; readonly added: string[] } {
  const added: string[] = []
  const { paths } = document as Node
  if (typeof paths !== 'object' || paths === null) return { document, added }
  const parametersOf = ({ parameters }: Node) => (Array.isArray(parameters) ? parameters : [])
  const isOf = (name: string) => (parameter: unknown) => {
    const { $ref } = nodeOf(parameter)
    const { name: own, in: location } = nodeOf(typeof $ref === 'string' ? lookUp(document, $ref) : parameter)
    return own === name && location === 'path'
  }
  const items = Object.entries(paths).map(([path, item]) => {
    if (path.startsWith('x-') || typeof item !== 'object' || item === null) return [path, item]
    const members = Object.entries(item as Node).map(([method, given]) => {
      if (!methods.includes(method) || typeof given !== 'object' || given === null) return [method, given]
      const node = given as Node
      const place = `${method.toUpperCase()} ${path}`
      const declared = [...parametersOf(item), ...parametersOf(node)]
      const missing = namesIn(path).filter((name) => !declared.some(isOf(name)))
      for (const name of missing) added.push(`${place} does not declare ${name}: it is taken as text`)
      const operationId = derivedId(method, path)
      if (!('operationId' in node)) added.push(`${place} has no operationId: it is called ${operationId}`)
      const texts = missing.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
      const parameters = missing.length > 0 && { parameters: [...parametersOf(node), ...texts] }
      return [method, { operationId, ...node, ...parameters }]
    })
    return [path, Object.fromEntries(members)]
  })
  return { document: added.length > 0 ? { ...document, paths: Object.fromEntries(items) } : document, added }
}

function derivedId(method: string, path: string): string {
  const words = path
    .replace(/\{/g, ' by ')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
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

function readPrefix(reader: Reader): string {
  const paths = pathsOf(reader, reader.document)
  const [prefix = '', ...others] = [...new Set(paths)]
  if (others.length > 0) {
    const shown = others.map((each) => each || '/').join(', ')
    reader.leave(
      `the servers' addresses end in ${shown}, too, but operations are served under ${prefix || '/'}`,
    )
  }
  return prefix
}

// The paths that the addresses of servers end in: which host is meant, only callers need to know.
function pathsOf(reader: Reader, { servers }: Node): string[] {
  return reader.list(servers).map((server) => {
    const variables = reader.node(server.variables)
    const url = String(server.url).replace(/\{([^{}]+)\}/g, (whole, name) =>
      String(reader.node(variables[name]).default ?? whole),
    )
    const path = url.replace(/^[^/]*\/\/[^/?#]*/, '')
    if (path.includes('{'))
      reader.problem(`the server's address ${url} has a variable in its path that is not declared`)
    if (URL.canParse(path, 'http://localhost'))
      return new URL(path, 'http://localhost').pathname.replace(/\/+$/, '')
    reader.problem(`the server's address ${url} is no URL`)
    return ''
  })
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

// Which host is meant is not the server's to say, but every operation is mounted under the one prefix.
function checkServers(reader: Reader, place: string, item: Node, node: Node): void {
  const [prefix = ''] = pathsOf(reader, reader.document)
  const other = [...pathsOf(reader, item), ...pathsOf(reader, node)].find((path) => path !== prefix)
  if (other !== undefined)
    reader.problem(
      `${place}: its own servers end in ${other || '/'}, but all operations are served under ${prefix || '/'}`,
    )
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

function readResponses(reader: Reader, place: string, operation: Node): Map<string, Response> {
  const responses = Object.entries(reader.node(operation.responses)).filter(([key]) => !key.startsWith('x-'))
  if (responses.length === 0) reader.problem(`${place} declares no responses`)
  return new Map(
    responses.map(([key, value]) => {
      const response = reader.node(value)
      const status = key.toLowerCase()
      if (!/^([2-5](\d\d|xx)|default)$/.test(status))
        reader.problem(
          `${place}: ${key} is no status of an answer: those are 200 to 599, 2XX to 5XX, and default`,
        )
      const contents = readAnswer(reader, place, status, response)
      return [status, { status, key, headers: readHeaders(reader, place, response), contents }]
    }),
  )
}

// Statuses whose answers end with their headers (RFC 9110, section 6.4.1; 205 by section 15.3.6).
const bodiless = ['204', '205', '304']

function readAnswer(reader: Reader, place: string, status: string, response: Node): Response['contents'] {
  const answer = `${place}: its answer ${status}`
  if (bodiless.includes(status)) {
    if (Object.keys(reader.node(response.content)).length > 0)
      reader.leave(`${answer} has no body: the status allows none`)
    return []
  }
  const { contents, left } = readContents(reader, answer, response.content, false)
  for (const text of left) reader.leave(text)
  return contents
}

// OpenAPI 3.1, section 4.8.17: a `Content-Type` among the headers says nothing.
function readHeaders(reader: Reader, place: string, response: Node): Header[] {
  const entries = Object.entries(reader.node(response.headers))
  const own = entries.filter(([name]) => name.toLowerCase() !== 'content-type')
  return own.map(([name, value]) => {
    const header = reader.node(value)
    const schema = reader.inlined(header.schema) as Node
    const isMore = header.content !== undefined || shapesOf(schema).has('object')
    const faults: [isFault: boolean, text: string][] = [
      [!isToken(name), 'has a name that HTTP does not allow'],
      [(header.style ?? 'simple') !== 'simple', `cannot have the style ${header.style}`],
      [header.schema !== undefined && header.content !== undefined, 'must have either a schema or a content'],
      [isMore, 'is more than a text or a list, which is not supported'],
    ]
    const fault = faults.find(([isFault]) => isFault)
    if (fault !== undefined) reader.unread(`${place}: its header ${name} ${fault[1]}`)
    return {
      name,
      required: header.required === true,
      schema,
      setByServer: header['x-set-by-server'] === true,
    }
  })
}

// Without a date there is nothing that RFC 9745 could say: the mark alone is for readers.
function readDeprecation(reader: Reader, place: string, operation: Node): Deprecation | undefined {
  const deprecatedAt = readDate(reader, place, 'x-deprecated-at', operation)
  const sunset = readDate(reader, place, 'x-sunset', operation)
  const saysMore = operation['x-sunset'] !== undefined || operation['x-successor'] !== undefined
  if (saysMore && operation['x-deprecated-at'] === undefined)
    reader.problem(`${place} is deprecated but has no x-deprecated-at`)
  if (deprecatedAt === undefined) return undefined
  if (sunset !== undefined && sunset < deprecatedAt)
    reader.problem(`${place} has its x-sunset before its x-deprecated-at`)
  return { deprecatedAt, sunset, successor: operation['x-successor'] as string | undefined }
}

// A full-date (RFC 3339): the first instant of that day, UTC.
function readDate(reader: Reader, place: string, key: string, operation: Node): Date | undefined {
  const value = operation[key]
  if (value === undefined) return undefined
  const date = new Date(`${value}T00:00:00Z`)
  // A day that the month does not have would roll over into the next.
  if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${value}T`)) return date
  reader.problem(`${place}: ${key} must be a date like 2030-12-05`)
  return undefined
}

// Some file systems take names in either case for the same.
function checkNames(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  const ids = new Map<string, string>()
  for (const operation of operations.values()) {
    const { id, name } = operation
    const other = ids.get(name.toLowerCase())
    if (other !== undefined)
      noteAt(reader, operation, `${other} and ${id} would both be in the module ${name}`)
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

function noteAt(reader: Reader, { path, method }: Operation, problem: string): void {
  reader.within(['paths', path, method.toLowerCase()], () => reader.problem(problem))
}
