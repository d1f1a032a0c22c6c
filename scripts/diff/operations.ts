// Operations: their parameters, bodies and responses.

import { compareCallbacks } from './callbacks.js'
import {
  type Bump,
  type Comparison,
  claim,
  claimBoth,
  compareKeys,
  report,
  type Spot,
  wholeNode,
} from './comparison.js'
import { between, compareContent } from './content.js'
import { compareDeprecated, compareDeprecation } from './deprecation.js'
import type { Direction } from './keywords.js'
import { describeChange, eachKey, eachName, type Node, nodesOf, type Pair } from './node.js'
import { child, resolve, same } from './references.js'
import { compareSchemas } from './schemas.js'
import { compareSecurity } from './security.js'
import { compareOwnServers } from './servers.js'
import { typesOf } from './simplify.js'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

interface Operation {
  readonly method: string
  readonly path: string
  /** The path item. */
  readonly item: Node
  readonly node: Node
}

/** Reports removed, added and changed operations. */
export function compareOperations(comparison: Comparison): void {
  const before = operationsOf(comparison, comparison.before)
  const after = operationsOf(comparison, comparison.after)
  eachName(before.keys(), after.keys(), {
    removed: (key) => reportOperation(comparison, 'major', 'operation removed', before.get(key) as Operation),
    added: (key) => reportOperation(comparison, 'minor', 'operation added', after.get(key) as Operation),
    kept: (key) => compareOperation(comparison, before.get(key) as Operation, after.get(key) as Operation),
  })
}

// By method and path, without the names of path parameters, which are not sent: `/pets/{id}` and `/pets/{petId}` are equal.
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
  // A path added or removed with its operations is not reported separately.
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
    // It is not sent, but generated clients use it as a function name.
    report(comparison, spot, 'minor', what, pair, 'operationId')
  }
  compareIdempotency(comparison, spot, pair)
  compareDeprecation(comparison, spot, pair)
  compareSecurity(comparison, spot, pair)
  compareOwnServers(comparison, spot, pair, { before: before.item, after: after.item })
  compareParameters(comparison, spot, before, after)
  compareBody(comparison, spot, pair)
  compareResponses(comparison, spot, child(comparison, pair, 'responses'))
  compareCallbacks(comparison, spot, child(comparison, pair, 'callbacks'))
}

// Without it, a client that repeats requests would repeat their effects.
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
      // The service rejects unknown query parameters.
      report(comparison, at(node), 'major', 'removed', alone(node), wholeNode)
    },
    added: (key) => {
      const node = is.get(key) as Node
      report(comparison, at(node), ...additionOf(node), alone(node), wholeNode)
    },
    kept: (key) => {
      const pair = { before: was.get(key) as Node, after: is.get(key) as Node }
      compareParameter(comparison, at(pair.after), pair)
    },
  })
}

// The change that an added parameter or body is.
function additionOf({ required }: Node): [Bump, string] {
  return required === true ? ['major', 'added, required'] : ['minor', 'added']
}

// OpenAPI ignores these parameters (3.1, section 4.8.12.1).
const ignored = new Set(['header.accept', 'header.content-type', 'header.authorization'])

// By location and name, or by position in the path. An operation's parameters override those of its path item.
function parametersOf(comparison: Comparison, document: Node, operation: Operation): Map<string, Node> {
  const { path, item, node } = operation
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  const parameters = [...nodesOf(item.parameters), ...nodesOf(node.parameters)]
  const entries = parameters.map((value) => {
    const parameter = resolve(comparison, document, value)
    const { in: place, name } = parameter
    return [`${place}.${place === 'path' ? names.indexOf(String(name)) : name}`, parameter] as const
  })
  return new Map(entries.filter(([key]) => !ignored.has(key.toLowerCase())))
}

function compareParameter(comparison: Comparison, spot: Spot, pair: Pair): void {
  compareRequired(comparison, spot, 'request', pair)
  compareDeprecated(comparison, spot, pair)
  const key = 'allowEmptyValue'
  const [before, after] = [pair.before[key], pair.after[key]]
  if (before !== after) {
    report(comparison, spot, after ? 'minor' : 'major', describeChange(key, before, after), pair, key)
  }
  compareValue(comparison, spot, 'request', pair)
}

// The schema and serialisation of a parameter or header.
function compareValue(comparison: Comparison, spot: Spot, direction: Direction, pair: Pair): void {
  const schema = child(comparison, pair, 'schema')
  const before = serialisationOf(pair.before, schema.before)
  const after = serialisationOf(pair.after, schema.after)
  if (before !== after) {
    const what = `serialisation ${before} -> ${after}`
    report(comparison, spot, 'major', what, pair, 'style', 'explode', 'allowReserved')
    // A schema is not compared with a content.
    if ([before, after].includes(byContent))
      for (const key of ['schema', 'content']) claimBoth(comparison, pair, key)
  }
  if (before === byContent && after === byContent) {
    compareContent(comparison, spot, direction, child(comparison, pair, 'content'))
  } else if (![before, after].includes(byContent)) {
    compareSchemas(comparison, { ...spot, direction, trail: [] }, schema)
  }
}

const byContent = 'content'

// Applies the defaults of `style` and `explode` (OpenAPI 3.1, section 4.8.12.2.1). `explode` has no effect on a single value.
function serialisationOf(parameter: Node, schema: Node): string {
  if (parameter.content !== undefined) return byContent
  const { style = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple' } = parameter
  const { explode = style === 'form', allowReserved = false } = parameter
  const many = style === 'simple' ? ['object'] : ['object', 'array']
  const isExploded = explode && typesOf(schema).some((type) => many.includes(type))
  return [style, isExploded && 'exploded', allowReserved && 'reserved characters'].filter(Boolean).join(', ')
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

function compareResponses(comparison: Comparison, spot: Spot, responses: Pair): void {
  const [before, after] = [Object.keys(responses.before), Object.keys(responses.after)]
  const reportAt = (status: string, bump: Bump, what: string) =>
    report(comparison, { ...spot, status }, bump, what, responses, status)
  const compareAt = (status: string, was: string, is: string) =>
    compareResponse(comparison, { ...spot, status }, between(comparison, responses, was, is))
  eachKey(responses, {
    removed: (status) => {
      const range = classOf(status)
      if (after.includes(range)) {
        compareAt(status, status, range)
        return reportAt(status, 'minor', `response -> ${range}`)
      }
      // A class replaced by some of its statuses, or a status that `default` describes equally.
      const isNarrowed = after.some((other) => classOf(other) === status)
      const isCompatible = isNarrowed || same(comparison, responses.before[status], responses.after.default)
      reportAt(status, isCompatible ? 'minor' : 'major', 'response removed')
    },
    added: (status) => {
      const range = classOf(status)
      if (!before.includes(range)) return reportAt(status, bumpOfResponse(status), 'response added')
      compareAt(status, range, status)
      reportAt(status, 'minor', `response ${range} -> ${status}`)
    },
    kept: (status) => compareAt(status, status, status),
  })
}

// `5XX` for 503; empty for a class itself.
function classOf(status: string): string {
  return /^\d{3}$/.test(status) ? `${status.charAt(0)}XX` : ''
}

// Clients treat an unknown error like the x00 status of its class (RFC 9110, section 15), but cannot read an unknown success.
function bumpOfResponse(status: string): Bump {
  return /^[123]/.test(status) ? 'major' : 'minor'
}

function compareResponse(comparison: Comparison, spot: Spot, response: Pair): void {
  const headers = child(comparison, response, 'headers')
  const at = (name: string) => ({ ...spot, where: `header.${name}` })
  compareKeys(comparison, headers, at, (name) =>
    compareHeader(comparison, at(name), child(comparison, headers, name)),
  )
  compareContent(comparison, { ...spot, where: 'body' }, 'response', child(comparison, response, 'content'))
}

function compareHeader(comparison: Comparison, spot: Spot, header: Pair): void {
  compareRequired(comparison, spot, 'response', header)
  compareDeprecated(comparison, spot, header)
  compareValue(comparison, spot, 'response', header)
}
