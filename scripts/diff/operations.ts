// Operations: their parameters, bodies and responses.

import { compareCallbacks } from './callbacks.js'
import { type Bump, claim, report, type Spot, wholeNode } from './comparison.js'
import { compareContent } from './content.js'
import { compareDeprecated, compareDeprecation } from './deprecation.js'
import { eachEntry, eachKey, methods, type Node, nodesOf } from './node.js'
import { child, inside, resolve, same } from './references.js'
import { compareFlag, compareKeys, compareValue, isFilledIn, reportEffect } from './rules.js'
import { compareSchemas } from './schemas.js'
import { compareSecurity } from './security.js'
import { compareOwnServers } from './servers.js'
import { typesOf } from './simplify.js'

interface Operation {
  readonly method: string
  readonly path: string
  /** The path item. */
  readonly item: Node
  readonly node: Node
}

/** Reports removed, added and changed operations. */
export function compareOperations(root: Spot): void {
  const { before, after } = root
  eachEntry(operationsOf(root, before), operationsOf(root, after), {
    removed: (operation) => reportOperation(root, 'major', 'operation removed', operation),
    added: (operation) => reportOperation(root, 'minor', 'operation added', operation),
    kept: (was, is) => compareOperation(root, was, is),
  })
}

// By method and path, without the names of path parameters: `/pets/{id}` and `/pets/{petId}` are equal.
function operationsOf({ comparison }: Spot, document: Node): Map<string, Operation> {
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

function placeOf({ method, path }: Operation): string {
  return `${method.toUpperCase()} ${path}`
}

function reportOperation(root: Spot, bump: Bump, what: string, operation: Operation): void {
  const { method, path, item } = operation
  report({ ...root, place: placeOf(operation), before: item, after: item }, bump, what, method)
  // A path added or removed with its operations is not reported separately.
  const paths = child(root, 'paths')
  if (paths.before[path] === undefined || paths.after[path] === undefined) claim(paths, path)
}

function compareOperation(root: Spot, was: Operation, is: Operation): void {
  const place = placeOf(is)
  const operation = { ...root, place, before: was.node, after: is.node }
  if (was.path !== is.path) {
    report({ ...child(root, 'paths'), place }, 'patch', `path ${was.path} -> ${is.path}`, was.path, is.path)
  }
  const { before, after } = operation
  if (before.operationId !== after.operationId) {
    // It is not sent, but generated clients use it as a function name.
    report(operation, 'minor', `operationId ${before.operationId} -> ${after.operationId}`, 'operationId')
  }
  // Without it, a client that repeats requests would repeat their effects.
  compareFlag(operation, 'x-idempotent', ['minor', 'idempotent'], ['major', 'no longer idempotent'])
  compareDeprecation(operation)
  compareSecurity(operation)
  compareOwnServers(operation, { before: was.item, after: is.item })
  compareParameters(operation, was, is)
  compareBody(operation)
  compareResponses(child(operation, 'responses'))
  compareCallbacks(child(operation, 'callbacks'))
}

function compareParameters(operation: Spot, was: Operation, is: Operation): void {
  const { documents } = operation.comparison
  const at = (before: Node, after = before) => {
    return { ...operation, before, after, where: `${after.in}.${after.name}` }
  }
  eachEntry(parametersOf(operation, documents.before, was), parametersOf(operation, documents.after, is), {
    // The service rejects unknown query parameters.
    removed: (node) => report(at(node), 'major', 'removed', wholeNode),
    added: (node) => report(at(node), ...additionOf(at(node)), wholeNode),
    kept: (before, after) => compareParameter(at(before, after)),
  })
}

// The change that an added parameter or body is.
function additionOf(spot: Spot): [Bump, string] {
  return spot.after.required === true && !isFilledIn(child(spot, 'schema'))
    ? ['major', 'added, required']
    : ['minor', 'added']
}

// OpenAPI ignores these parameters (3.1, section 4.8.12.1).
const ignored = new Set(['header.accept', 'header.content-type', 'header.authorization'])

// By location and name, or position in the path. An operation's parameters override its path item's.
function parametersOf({ comparison }: Spot, document: Node, operation: Operation): Map<string, Node> {
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

function compareParameter(parameter: Spot): void {
  compareValue(parameter, 'allowEmptyValue', (_, isAllowed) => (isAllowed ? 'minor' : 'major'))
  compareField(parameter)
}

// A parameter or header.
function compareField(field: Spot): void {
  compareRequired(field)
  compareDeprecated(field)
  const schema = child(field, 'schema')
  const before = serialisationOf(field.before, schema.before)
  const after = serialisationOf(field.after, schema.after)
  if (before !== after) {
    report(field, 'major', `serialisation ${before} -> ${after}`, 'style', 'explode', 'allowReserved')
  }
  const contents = [before, after].filter((each) => each === byContent)
  if (contents.length === 2) compareContent(child(field, 'content'))
  else if (contents.length === 0) compareSchemas(schema)
  // A schema is not compared with a content.
  else claim(field, 'schema', 'content')
}

const byContent = 'content'

// Applies the defaults of `style` and `explode` (OpenAPI 3.1, section 4.8.12.2.1). A value has none.
function serialisationOf(parameter: Node, schema: Node): string {
  if (parameter.content !== undefined) return byContent
  const { style = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple' } = parameter
  const { explode = style === 'form', allowReserved = false } = parameter
  const many = style === 'simple' ? ['object'] : ['object', 'array']
  const isExploded = explode && typesOf(schema).some((type) => many.includes(type))
  return [style, isExploded && 'exploded', allowReserved && 'reserved characters'].filter(Boolean).join(', ')
}

function compareRequired(spot: Spot): void {
  const [before, after] = [spot.before.required === true, spot.after.required === true]
  if (before && !after) reportEffect(spot, ['widens'], 'required -> optional', 'required')
  const effects = isFilledIn(child(spot, 'schema')) ? [] : (['narrows'] as const)
  if (!before && after) reportEffect(spot, effects, 'optional -> required', 'required')
}

function compareBody(operation: Spot): void {
  const key = 'requestBody'
  const body = child(operation, key, 'body')
  const [had, has] = [operation.before[key] !== undefined, operation.after[key] !== undefined]
  if (had && has) {
    compareRequired(body)
    compareContent(child(body, 'content'))
  } else if (had) report({ ...operation, where: 'body' }, 'major', 'removed', key)
  else if (has) report({ ...operation, where: 'body' }, ...additionOf(body), key)
}

function compareResponses(responses: Spot): void {
  const { comparison, before, after } = responses
  const reportAt = (status: string, bump: Bump, what: string) =>
    report({ ...responses, status }, bump, what, status)
  const compareAt = (status: string, was: string, is: string) =>
    compareResponse({ ...inside(responses, before[was], after[is]), status, direction: 'response' })
  eachKey(responses, {
    removed: (status) => {
      const range = classOf(status)
      if (range in after) {
        compareAt(status, status, range)
        return reportAt(status, 'minor', `response -> ${range}`)
      }
      // A class replaced by some of its statuses, or a status that `default` describes equally.
      const isNarrowed = Object.keys(after).some((other) => classOf(other) === status)
      const isCompatible = isNarrowed || same(comparison, before[status], after.default)
      reportAt(status, isCompatible ? 'minor' : 'major', 'response removed')
    },
    added: (status) => {
      const range = classOf(status)
      if (!(range in before)) return reportAt(status, bumpOfResponse(status), 'response added')
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

// Clients treat an unknown error like x00 of its class (RFC 9110, section 15), but cannot read a success.
function bumpOfResponse(status: string): Bump {
  return /^[123]/.test(status) ? 'major' : 'minor'
}

function compareResponse(response: Spot): void {
  compareKeys(child(response, 'headers'), (name) => `header.${name}`, compareField)
  compareContent(child(response, 'content', 'body'))
}
