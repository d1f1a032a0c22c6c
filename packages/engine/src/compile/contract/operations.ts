// Reads each Operation Object with its path, and checks what the server cannot route or serve as written.

import type { Contract, Operation, Schema } from '../../document/contract.js'
import { defaultRequestId } from '../../document/defaults.js'
import { readDeprecation } from '../../document/deprecation.js'
import { isMediaType } from '../../document/media-types.js'
import { isSafe, methodFaults, operationPlace, operationsIn } from '../../document/methods.js'
import { moduleName, pathParameterNames, withRouteNames } from '../../document/names.js'
import { type Faults, found, type Node, type Reader } from '../../document/reader.js'
import { isPublic, readRequirements, readSecuritySchemes } from '../../document/security.js'
import { takesUploads } from '../../document/uploads.js'
import { hasStreams } from '../../kinds/index.js'
import { misspelt } from '../../lib/misspelt.js'
import { readContents } from './content.js'
import {
  deprecatedExtensions,
  operationExtensions,
  ownExtensions,
  readOperationLimits,
} from './extensions.js'
import { readParameters } from './parameters.js'
import { readResponses, responsesIn } from './read-responses.js'
import { withUploads } from './read-uploads.js'
import { readOwnPrefix, readPrefix } from './servers.js'

/** Reads and checks every operation. */
export function readOperations(reader: Reader): Pick<Contract, 'prefix' | 'operations' | 'securitySchemes'> {
  const prefix = reader.within(['servers'], () => readPrefix(reader))
  const operations = new Map<string, Operation>()
  for (const [path, value] of Object.entries(reader.node(reader.document.paths))) {
    if (path.startsWith('x-')) continue
    const item = reader.within(['paths', path], () => reader.node(value))
    reader.within(['paths', path], () => checkPath(reader, path))
    checkMethods(reader, path, item)
    for (const [method, node] of operationsIn(item)) {
      reader.within(operationPlace({ path, method }), () => {
        const operation = readOperation(reader, { path, method, item, prefix }, reader.node(node))
        const same = operations.get(operation.id)
        if (same !== undefined)
          reader.problem(`two operations have the operationId ${operation.id}`, operationPlace(same))
        operations.set(operation.id, operation)
      })
    }
  }
  return checked(reader, { prefix, operations: withOwnNames(reader, operations) })
}

function checked(reader: Reader, { prefix, operations }: Pick<Contract, 'prefix' | 'operations'>) {
  checkRoutes(reader, operations)
  checkDeprecations(reader, operations)
  checkLinks(reader, operations)
  return { prefix, operations, securitySchemes: readSecuritySchemes(reader) }
}

function checkPath(reader: Reader, path: string): void {
  const names = pathParameterNames(path)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) reader.problem(`${path}: the path contains the parameter ${twice} twice`)
  if (path.includes('}{')) reader.problem(`${path}: adjacent parameters need a separator between them`)
  if (/[{}]/.test(path.replace(/\{[^{}]+\}/g, '')))
    reader.problem(`${path}: a parameter must be a name in braces, like {id}`)
  if (!path.startsWith('/')) reader.problem(`${path}: a path must start with /`)
  // Fastify takes `*` and `?` for wildcards; `?` and `#` end the path of a URL.
  if (/[*?#]/.test(decoded(path) ?? path)) reader.problem(`${path}: a path cannot contain *, ? or #`)
  if (decoded(path) === undefined) reader.problem(`${path}: percent-encoding in a path must be valid UTF-8`)
}

function checkMethods(reader: Reader, path: string, item: Node): void {
  for (const { method, text, at } of methodFaults(item))
    reader.within(['paths', path, ...at], () => reader.problem(`${method} ${path}: ${text}`))
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

/** Where an operation is. */
interface OperationPlace {
  readonly path: string
  readonly method: string
  readonly item: Node
  /** That of the document. */
  readonly prefix: string
}

function readOperation(
  reader: Reader,
  { path, method, item, prefix }: OperationPlace,
  node: Node,
): Operation {
  const place = `${method} ${path}`
  if (typeof node.operationId !== 'string' || node.operationId === '')
    reader.problem(`${place}: operationId must be a non-empty string`)
  const { result, unsupported } = reader.collectUnsupported(() => {
    checkExtensions(reader, place, item, node)
    return {
      parameters: readParameters(reader, place, path, item, node),
      body: requestBodyOf(reader, place, method, node),
      responses: readResponses(reader, place, node),
      security: readRequirements(reader.document, node),
    }
  })
  const operation: Operation = {
    id: String(node.operationId),
    name: moduleName(String(node.operationId)),
    method,
    isSafe: isSafe(method),
    summary: node.summary as string | undefined,
    prefix: readOwnPrefix(reader, place, item, node) ?? prefix,
    path,
    route: routeOf(path),
    ...result,
    judges: {},
    body: withUploads(reader, place, result.body, reader.node(node['x-limits']).bodyBytes),
    unsupported,
    limits: readOperationLimits(reader, place, node, result),
    deprecation: node.deprecated === true ? readDeprecation(reader, place, node) : undefined,
    isIdempotent: node['x-idempotent'] === true,
    extensions: {},
    definition: node,
  }
  checkIdempotency(reader, place, node['x-idempotent'], operation)
  return operation
}

// Checks what an idempotent operation needs: the header and responses for its clients, and security, because
// keys are stored for each client.
function checkIdempotency(reader: Reader, place: string, mark: unknown, operation: Operation): void {
  const { method, parameters, responses } = operation
  const hasKey = parameters.some((each) => each.in === 'header' && each.key === 'idempotency-key')
  if (mark === undefined || mark === false) {
    if (hasKey)
      reader.warn(`${place}: the header parameter Idempotency-Key has no effect without x-idempotent`)
    return
  }
  const faults: Faults = [
    [mark !== true, 'must be true or false'],
    [hasStreams(responses), 'is not for a stream of items, which is not stored'],
    [takesUploads(operation), 'is not for a body that streams: a repetition is recognized by its whole body'],
    [isSafe(method) || method === 'OPTIONS', `is not for ${method}, which changes nothing`],
    [!hasKey, 'requires the header parameter Idempotency-Key'],
    [
      !declaresStatus(responses, '409'),
      'requires a 409 response, for a key whose first request is still in progress',
    ],
    [!declaresStatus(responses, '422'), 'requires a 422 response, for a key that another request has used'],
    [isPublic(operation), 'requires security: keys are stored per client'],
  ]
  for (const text of found(faults)) reader.problem(`${place}: x-idempotent ${text}`)
}

function declaresStatus(responses: Operation['responses'], status: string): boolean {
  return [status, `${status[0]}xx`, 'default'].some((each) => responses.has(each))
}

/**
 * Returns the schema of the header `X-Request-Id`. There can be only one: a request gets its id before it is
 * routed.
 */
export function readRequestId(reader: Reader, { operations }: Pick<Contract, 'operations'>): Schema {
  const schemas = new Map<string, Schema>()
  for (const operation of operations.values()) {
    const headers = [...operation.responses.values()].flatMap((response) => response.headers)
    for (const { schema } of headers.filter(({ name }) => name.toLowerCase() === 'x-request-id')) {
      if (schemas.size > 0 && !schemas.has(JSON.stringify(schema)))
        problemAt(
          reader,
          operation,
          `${operation.id}: the header X-Request-Id must have the same schema in every response`,
        )
      schemas.set(JSON.stringify(schema), schema)
    }
  }
  const [schema = defaultRequestId] = schemas.values()
  return schema
}

// Refuses extensions of the server in places where they have no effect.
function checkExtensions(reader: Reader, place: string, item: Node, node: Node): void {
  const ofOperation = [...operationExtensions, ...reader.extensions.ofOperation]
  const ofDocument = [...ownExtensions, ...reader.extensions.ofDocument].filter(
    (name) => !ofOperation.includes(name),
  )
  for (const name of ofDocument)
    if (name in item || name in node)
      reader.unsupported(`${place}: ${name} belongs at the top level of the document`)
  for (const name of ofOperation)
    if (name in item) reader.unsupported(`${place}: ${name} belongs in the operation, not in the path item`)
  const mark = deprecatedExtensions.find((name) => name in node)
  if (mark !== undefined && node.deprecated !== true)
    reader.unsupported(`${place}: ${mark} requires deprecated: true`)
  const given = Object.keys(node).filter((name) => name.startsWith('x-'))
  for (const text of misspelt(given, ofOperation)) reader.unsupported(`${place}: ${text}`)
}

function requestBodyOf(reader: Reader, place: string, method: string, operation: Node): Operation['body'] {
  if (operation.requestBody === undefined) return undefined
  const { content, required } = reader.node(operation.requestBody)
  if (['GET', 'HEAD'].includes(method)) {
    const text = `${place}: a requestBody has no defined meaning for this method (RFC 9110, section 9.3.1)`
    if (required === true) reader.unsupported(`${text}: remove it`)
    else reader.warn(`${text}: it is ignored`)
    return undefined
  }
  const contents = readContents(reader, `${place}: the request body`, content, 'request')
  const mediaTypes = Object.keys(reader.node(content)).filter(isMediaType)
  return { required: required === true, mediaTypes, contents }
}

// File systems allow 255 bytes, and the file's extension needs some of them.
const nameMax = 200

// On some file systems, names that differ only in case are the same file. An operation whose operationId is
// the name keeps it, or else the first operation with the name. The others get a number.
function withOwnNames(reader: Reader, operations: ReadonlyMap<string, Operation>): Map<string, Operation> {
  const all = [...operations.values()]
  const owners = new Map<string, Operation>()
  for (const each of [...all.filter(({ id, name }) => id === name), ...all])
    if (!owners.has(fileOf(each.name))) owners.set(fileOf(each.name), each)
  const named = all.map((operation): [string, Operation] => {
    const { id, name } = operation
    const owner = owners.get(fileOf(name))
    if (name.length > nameMax)
      problemAt(
        reader,
        operation,
        `${id}: the operationId names a file and must have at most ${nameMax} characters`,
      )
    if (owner === undefined || owner === operation) return [id, operation]
    const own = numbered(name, owners)
    owners.set(fileOf(own), operation)
    const text = `${id}: the name of its handler is ${own}, because ${owner.id} has ${owner.name}`
    reader.within(operationPlace(operation), () => reader.warn(text))
    return [id, { ...operation, name: own }]
  })
  return new Map(named)
}

function fileOf(name: string): string {
  return name.toLowerCase()
}

function numbered(name: string, taken: ReadonlyMap<string, unknown>, number = 2): string {
  const own = `${name}${number}`
  return taken.has(fileOf(own)) ? numbered(name, taken, number + 1) : own
}

// `/pets/{id}` and `/pets/{petId}` match the same requests.
function checkRoutes(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  const ids = new Map<string, Operation>()
  for (const operation of operations.values()) {
    const { id, method, prefix, path } = operation
    const url = prefix + path
    const route = `${method} ${(decoded(url) ?? url).replace(/\{[^{}]+\}/g, '{}')}`
    const other = ids.get(route)
    if (other !== undefined)
      reader.within(operationPlace(operation), () =>
        reader.problem(`${other.id} and ${id} are both ${method} ${path}`, operationPlace(other)),
      )
    ids.set(route, operation)
  }
}

function checkDeprecations(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  for (const operation of operations.values()) {
    const { id, method, path, deprecation, responses } = operation
    if (deprecation?.afterSunset === 'gone' && !declaresStatus(responses, '410'))
      problemAt(reader, operation, `${method} ${path}: x-after-sunset: gone requires a 410 response`)
    const successor = deprecation?.successor
    if (successor === undefined) continue
    const problem = `${id}: x-successor ${successor}`
    if (!operations.has(successor)) problemAt(reader, operation, `${problem} is not an operationId`)
    else if (operations.get(successor)?.path.includes('{'))
      problemAt(reader, operation, `${problem} has path parameters, so a Link header cannot refer to it`)
  }
}

// Link Objects are only documentation, so a wrong one is a warning.
function checkLinks(reader: Reader, operations: ReadonlyMap<string, Operation>): void {
  for (const { id, definition } of operations.values()) {
    const links = responsesIn(reader, definition).flatMap(([, response]) =>
      Object.entries(reader.node(reader.node(response).links)),
    )
    for (const [name, link] of links) {
      const { operationId = id } = reader.node(link)
      if (!operations.has(String(operationId)))
        reader.warn(`${id}: the link ${name} refers to ${operationId}, which is not an operationId`)
    }
  }
}

function problemAt(reader: Reader, operation: Operation, problem: string): void {
  reader.within(operationPlace(operation), () => reader.problem(problem))
}
