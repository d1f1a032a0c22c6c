// Operations, with their parameters, bodies and responses.

import { type Bump, type Comparison, claim, report, type Spot, whole } from './comparison.js'
import { compareDeprecated, compareDeprecation } from './deprecation.js'
import type { Direction } from './keywords.js'
import { eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, resolve } from './references.js'
import { compareSchemas } from './schemas.js'
import { compareSecurity } from './security.js'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

interface Operation {
  readonly method: string
  readonly path: string
  /** The mapping of the path, which may hold other methods. */
  readonly item: Node
  readonly node: Node
}

/** Reports operations that went, came or changed. */
export function compareOperations(comparison: Comparison): void {
  const before = operationsOf(comparison, comparison.before)
  const after = operationsOf(comparison, comparison.after)
  eachName(before.keys(), after.keys(), {
    removed: (key) => reportOperation(comparison, 'major', 'operation removed', before.get(key) as Operation),
    added: (key) => reportOperation(comparison, 'minor', 'operation added', after.get(key) as Operation),
    kept: (key) => compareOperation(comparison, before.get(key) as Operation, after.get(key) as Operation),
  })
}

// By method and path. What a path parameter is called does not reach the wire: `/pets/{id}` and
// `/pets/{petId}` are one.
function operationsOf(comparison: Comparison, document: Node): Map<string, Operation> {
  const operations = new Map<string, Operation>()
  const paths = resolve(comparison, document, document.paths)
  for (const [path, value] of Object.entries(paths)) {
    const item = resolve(comparison, document, value)
    for (const method of methods.filter((method) => item[method] !== undefined)) {
      const node = resolve(comparison, document, item[method])
      operations.set(`${method} ${path.replace(/\{[^}]*\}/g, '{}')}`, { method, path, item, node })
    }
  }
  return operations
}

function spotOf({ method, path }: Operation): Spot {
  return { place: `${method.toUpperCase()} ${path}`, where: '' }
}

function reportOperation(comparison: Comparison, bump: Bump, what: string, operation: Operation): void {
  const { method, path, item } = operation
  report(comparison, spotOf(operation), bump, what, alone(item), method)
  // A path that came or went with its operations is no news beside them.
  const paths = child(comparison, comparison, 'paths')
  if (paths.before[path] === undefined) claim(comparison, paths.after, path)
  if (paths.after[path] === undefined) claim(comparison, paths.before, path)
}

function compareOperation(comparison: Comparison, before: Operation, after: Operation): void {
  const spot = spotOf(after)
  const pair = { before: before.node, after: after.node }
  if (before.path !== after.path) {
    const paths = child(comparison, comparison, 'paths')
    report(comparison, spot, 'patch', `path ${before.path} -> ${after.path}`, paths, before.path, after.path)
  }
  if (pair.before.operationId !== pair.after.operationId) {
    const what = `operationId ${pair.before.operationId} -> ${pair.after.operationId}`
    // Nobody sends it, but code generated from the contract calls it.
    report(comparison, spot, 'minor', what, pair, 'operationId')
  }
  compareIdempotency(comparison, spot, pair)
  compareDeprecation(comparison, spot, pair)
  compareSecurity(comparison, spot, pair)
  compareParameters(comparison, spot, before, after)
  compareBody(comparison, spot, pair)
  compareResponses(comparison, spot, child(comparison, pair, 'responses'))
}

// Who relied on it would do things twice.
function compareIdempotency(comparison: Comparison, spot: Spot, pair: Pair): void {
  const [before, after] = [pair.before['x-idempotent'] === true, pair.after['x-idempotent'] === true]
  if (before === after) return
  const what = after ? 'idempotent' : 'no longer idempotent'
  report(comparison, spot, after ? 'minor' : 'major', what, pair, 'x-idempotent')
}

const alone = (node: Node): Pair => ({ before: node, after: node })

function compareParameters(comparison: Comparison, spot: Spot, before: Operation, after: Operation): void {
  const was = parametersOf(comparison, comparison.before, before)
  const is = parametersOf(comparison, comparison.after, after)
  const at = ({ in: place, name }: Node) => ({ ...spot, where: `${place}.${name}` })
  eachName(was.keys(), is.keys(), {
    removed: (key) => {
      const node = was.get(key) as Node
      // The service refuses query parameters it does not know.
      report(comparison, at(node), 'major', 'removed', alone(node), whole)
    },
    added: (key) => {
      const node = is.get(key) as Node
      report(comparison, at(node), ...additionOf(node), alone(node), whole)
    },
    kept: (key) => {
      const pair = { before: was.get(key) as Node, after: is.get(key) as Node }
      compareParameter(comparison, at(pair.after), pair)
    },
  })
}

// Something more to send.
function additionOf({ required }: Node): [Bump, string] {
  return required === true ? ['major', 'added, required'] : ['minor', 'added']
}

// By place and name, those in the path by their position. An operation's own replace those of its path.
function parametersOf(comparison: Comparison, document: Node, operation: Operation): Map<string, Node> {
  const { path, item, node } = operation
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  const parameters = [...nodesOf(item.parameters), ...nodesOf(node.parameters)]
  return new Map(
    parameters.map((value) => {
      const parameter = resolve(comparison, document, value)
      const { in: place, name } = parameter
      return [`${place}.${place === 'path' ? names.indexOf(String(name)) : name}`, parameter]
    }),
  )
}

function compareParameter(comparison: Comparison, spot: Spot, pair: Pair): void {
  compareRequired(comparison, spot, 'request', pair)
  compareDeprecated(comparison, spot, pair)
  const [before, after] = [serialisationOf(pair.before), serialisationOf(pair.after)]
  if (before !== after) {
    const what = `serialisation ${before} -> ${after}`
    report(comparison, spot, 'major', what, pair, 'style', 'explode', 'allowReserved')
  }
  compareSchemas(comparison, { ...spot, direction: 'request', trail: [] }, child(comparison, pair, 'schema'))
  compareContent(comparison, spot, 'request', child(comparison, pair, 'content'))
}

// OpenAPI 3.1, section 4.8.12.2.1: the defaults of `style` and `explode`.
function serialisationOf(parameter: Node): string {
  const { style = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple' } = parameter
  const { explode = style === 'form', allowReserved = false } = parameter
  return [style, explode && 'exploded', allowReserved && 'reserved characters'].filter(Boolean).join(', ')
}

function compareRequired(comparison: Comparison, spot: Spot, direction: Direction, pair: Pair): void {
  const [before, after] = [pair.before.required === true, pair.after.required === true]
  if (before === after) return
  const isBreaking = after === (direction === 'request')
  const what = after ? 'optional -> required' : 'required -> optional'
  report(comparison, spot, isBreaking ? 'major' : 'minor', what, pair, 'required')
}

function compareBody(comparison: Comparison, { place }: Spot, operation: Pair): void {
  const spot = { place, where: 'body' }
  const key = 'requestBody'
  const body = child(comparison, operation, key)
  const [had, has] = [operation.before[key] !== undefined, operation.after[key] !== undefined]
  if (had && has) {
    compareRequired(comparison, spot, 'request', body)
    compareContent(comparison, spot, 'request', child(comparison, body, 'content'))
  } else if (had) report(comparison, spot, 'major', 'removed', operation, key)
  else if (has) report(comparison, spot, ...additionOf(body.after), operation, key)
}

function compareContent(comparison: Comparison, spot: Spot, direction: Direction, content: Pair): void {
  eachKey(content, {
    removed: (type) => report(comparison, spot, 'major', `media type ${type} removed`, content, type),
    added: (type) => report(comparison, spot, 'minor', `media type ${type} added`, content, type),
    kept: (type) => {
      const schema = child(comparison, child(comparison, content, type), 'schema')
      compareSchemas(comparison, { ...spot, direction, trail: [] }, schema)
    },
  })
}

function compareResponses(comparison: Comparison, spot: Spot, responses: Pair): void {
  eachKey(responses, {
    removed: (status) =>
      report(comparison, { ...spot, status }, 'major', 'response removed', responses, status),
    added: (status) =>
      report(comparison, { ...spot, status }, bumpOfResponse(status), 'response added', responses, status),
    kept: (status) => compareResponse(comparison, { ...spot, status }, child(comparison, responses, status)),
  })
}

// A caller takes an error it does not know for the first of its class (RFC 9110, section 15); a success that it
// does not know, it cannot read.
function bumpOfResponse(status: string): Bump {
  return /^[123]/.test(status) ? 'major' : 'minor'
}

function compareResponse(comparison: Comparison, spot: Spot, response: Pair): void {
  const headers = child(comparison, response, 'headers')
  const at = (name: string) => ({ ...spot, where: `header.${name}` })
  eachKey(headers, {
    removed: (name) => report(comparison, at(name), 'major', 'removed', headers, name),
    added: (name) => report(comparison, at(name), 'minor', 'added', headers, name),
    kept: (name) => compareHeader(comparison, at(name), child(comparison, headers, name)),
  })
  compareContent(comparison, { ...spot, where: 'body' }, 'response', child(comparison, response, 'content'))
}

function compareHeader(comparison: Comparison, spot: Spot, header: Pair): void {
  compareRequired(comparison, spot, 'response', header)
  compareDeprecated(comparison, spot, header)
  const schema = child(comparison, header, 'schema')
  compareSchemas(comparison, { ...spot, direction: 'response', trail: [] }, schema)
}
