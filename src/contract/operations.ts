// The operations of the document, where they are mounted, and what would keep the server from serving them as they
// are written.

import { moduleName } from './names.js'
import { readParameters } from './parameters.js'
import type { Node, Reader } from './reader.js'
import type { Contract, Deprecation, Header, Operation, Response } from './types.js'

// What fastify-openapi-glue makes routes of.
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const otherMethods = ['trace', 'query']

/** Reads and checks every operation. */
export function readOperations(reader: Reader): Pick<Contract, 'prefix' | 'operations' | 'securitySchemes'> {
  const operations = new Map<string, Operation>()
  for (const [path, value] of Object.entries(reader.node(reader.document.paths))) {
    if (path.startsWith('x-')) continue
    const item = reader.node(value)
    checkPath(reader, path, item)
    for (const method of methods) {
      if (item[method] === undefined) continue
      const operation = readOperation(reader, path, method, item, reader.node(item[method]))
      const isNamed = reader.node(item[method]).operationId !== undefined
      if (isNamed && operations.has(operation.id)) reader.problem(`two operations are called ${operation.id}`)
      operations.set(operation.id, operation)
    }
  }
  checkNames(reader, operations)
  checkRoutes(reader, operations)
  checkSuccessors(reader, operations)
  const securitySchemes = new Map(Object.entries(reader.node(reader.components.securitySchemes)))
  checkSecurity(reader, operations, securitySchemes)
  return { prefix: readPrefix(reader), operations, securitySchemes: securitySchemes as never }
}

function readPrefix(reader: Reader): string {
  const paths = reader.list(reader.document.servers).map((server) => {
    const variables = reader.node(server.variables)
    const url = String(server.url).replace(/\{(\w+)\}/g, (_, name) =>
      String(reader.node(variables[name]).default),
    )
    if (URL.canParse(url, 'http://localhost')) {
      return new URL(url, 'http://localhost').pathname.replace(/\/+$/, '')
    }
    reader.problem(`the server's address ${url} is no URL`)
    return ''
  })
  if (new Set(paths).size > 1)
    reader.problem(`the servers' addresses end in different paths: ${paths.join(', ')}`)
  return paths[0] ?? ''
}

function checkPath(reader: Reader, path: string, item: Node): void {
  if (!path.startsWith('/')) reader.problem(`${path}: a path begins with a slash`)
  if (/\{[^}]*[^\w}][^}]*\}/.test(path)) {
    reader.problem(`${path}: a path parameter's name is letters, digits and underscores`)
  }
  // Fastify's own marks.
  if (/[:*]/.test(path)) reader.problem(`${path}: a path cannot hold : or *`)
  for (const method of otherMethods) {
    if (item[method] !== undefined) reader.problem(`${method.toUpperCase()} ${path} cannot be served`)
  }
}

function readOperation(reader: Reader, path: string, method: string, item: Node, node: Node): Operation {
  const place = `${method.toUpperCase()} ${path}`
  if (typeof node.operationId !== 'string' || node.operationId === '')
    reader.problem(`${place} has no operationId`)
  const operation: Operation = {
    id: String(node.operationId),
    name: moduleName(String(node.operationId)),
    method: method.toUpperCase(),
    summary: node.summary as string | undefined,
    path,
    security: readSecurity(reader, node),
    parameters: readParameters(reader, place, path, item, node),
    body: readBody(reader, node),
    responses: readResponses(reader, place, node),
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

function readSecurity(reader: Reader, operation: Node): string[][] {
  const alternatives = (operation.security ?? reader.document.security ?? []) as Node[]
  return alternatives.map((alternative) => Object.keys(alternative))
}

function readBody(reader: Reader, operation: Node): Operation['body'] {
  if (operation.requestBody === undefined) return undefined
  const body = reader.node(operation.requestBody)
  return { required: body.required === true, mediaTypes: Object.keys(reader.node(body.content)) }
}

function readResponses(reader: Reader, place: string, operation: Node): Map<string, Response> {
  const responses = Object.entries(reader.node(operation.responses)).filter(([key]) => !key.startsWith('x-'))
  if (responses.length === 0) reader.problem(`${place} declares no responses`)
  return new Map(
    responses.map(([key, value]) => {
      const response = reader.node(value)
      const status = key.toLowerCase()
      const mediaTypes = Object.keys(reader.node(response.content))
      return [status, { status, headers: readHeaders(reader, response), mediaTypes }]
    }),
  )
}

function readHeaders(reader: Reader, response: Node): Header[] {
  return Object.entries(reader.node(response.headers)).map(([name, value]) => {
    const header = reader.node(value)
    return {
      name,
      required: header.required === true,
      schema: reader.inlined(header.schema) as Node,
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
  for (const { id, name } of operations.values()) {
    const other = ids.get(name.toLowerCase())
    if (other !== undefined) reader.problem(`${other} and ${id} would both be in the module ${name}`)
    ids.set(name.toLowerCase(), id)
  }
}

// Which of `/pets/{id}` and `/pets/{petId}` was meant, nobody could say.
function checkRoutes(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  const ids = new Map<string, string>()
  for (const { id, method, path } of operations.values()) {
    const route = `${method} ${path.replace(/\{\w+\}/g, '{}')}`
    const other = ids.get(route)
    if (other !== undefined) reader.problem(`${other} and ${id} are both ${method} ${path}`)
    ids.set(route, id)
  }
}

function checkSuccessors(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  for (const { id, deprecation } of operations.values()) {
    const successor = deprecation?.successor
    if (successor !== undefined && !operations.has(successor)) {
      reader.problem(`${id}: its x-successor ${successor} is no operation`)
    } else if (successor !== undefined && operations.get(successor)?.path.includes('{')) {
      reader.problem(`${id}: its x-successor ${successor} has path parameters, so no link can lead there`)
    }
  }
}

function checkSecurity(
  reader: Reader,
  operations: ReadonlyMap<string, Operation>,
  schemes: ReadonlyMap<string, unknown>,
): void {
  for (const { id, security } of operations.values()) {
    for (const scheme of security.flat()) {
      if (!schemes.has(scheme)) reader.problem(`${id} asks for the unknown security scheme ${scheme}`)
    }
  }
}
