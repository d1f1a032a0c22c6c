// Compares operations: their parameters, bodies and responses.

import { effectiveParameters, isJson, Reader } from 'contract-engine/tools'
import { compareCallbacks } from './callbacks.js'
import { type Bump, report, type Spot, wholeNode } from './comparison.js'
import { compareContent } from './content.js'
import { compareDeprecation, isGone } from './deprecation.js'
import { compareField, compareRequired } from './fields.js'
import { compareOwnLimits } from './limits.js'
import { eachEntry, eachKey, type Node } from './node.js'
import {
  nameless,
  type Operation,
  type OperationPair,
  type OperationPairs,
  operationsOf,
  prefixOf,
} from './operation-pairs.js'
import { child, inside, resolve, same } from './references.js'
import { compareFlag, compareKeys, compareValue, isFilledIn } from './rules.js'
import { compareSecurity } from './security.js'
import { compareOwnServers } from './servers.js'

/** Reports removed, added and changed operations. */
export function compareOperations(root: Spot, { kept, removed, added }: OperationPairs): void {
  for (const operation of removed) reportRemoved(root, operation)
  for (const operation of added) reportOperation(root, 'minor', 'operation added', operation)
  compareUrls(root, kept)
  compareErrorType(root)
  for (const { was, is } of kept) compareOperation(root, was, is)
}

// The server sends undeclared errors in the form of other errors. Here, the first declared error stands for
// that form.
function compareErrorType(root: Spot): void {
  const [was, is] = [errorTypeIn(root, root.before), errorTypeIn(root, root.after)]
  if (was === undefined || is === undefined || was === is) return
  report({ ...root, place: 'errors' }, 'major', `media type ${was} -> ${is}`)
}

function errorTypeIn(root: Spot, document: Node): string | undefined {
  const entriesOf = (value: unknown) => Object.entries(resolve(root.comparison, document, value))
  const responses = [...operationsOf(root, document)].flatMap(({ node }) => entriesOf(node.responses))
  const errors = responses.filter(([status]) => /^([45]|default)/.test(status))
  const contents = errors.flatMap(([, value]) => resolve(root.comparison, document, value).content)
  return contents.flatMap((content) => entriesOf(content).map(([type]) => type)).find(isJson)
}

// After its sunset, an operation may already respond 410.
function reportRemoved(root: Spot, operation: Operation): void {
  if (isGone(operation.node, root.comparison.nowMs))
    reportOperation(root, 'minor', 'operation removed, gone since its sunset', operation)
  else reportOperation(root, 'major', 'operation removed', operation)
}

// An operation whose URL is the same as before did not move, even if the path of the servers changed.
function compareUrls(root: Spot, kept: readonly OperationPair[]): void {
  const isMoved = ({ was, is }: OperationPair) => nameless(was.url) !== nameless(is.url)
  if (!kept.some(isMoved)) return
  const [before, after] = [root.before, root.after].map((document) => prefixOf(document) || '/')
  report({ ...root, place: 'servers' }, 'major', `path ${before} -> ${after}`, 'servers')
}

/** Returns the place of an operation in a report: `GET /pets`. */
export function placeOf({ method, path }: Operation): string {
  return `${method} ${path}`
}

function reportOperation(root: Spot, bump: Bump, what: string, operation: Operation): void {
  const { node } = operation
  report({ ...root, place: placeOf(operation), before: node, after: node }, bump, what, wholeNode)
}

function compareOperation(root: Spot, was: Operation, is: Operation): void {
  const place = placeOf(is)
  const operation = { ...root, place, before: was.node, after: is.node }
  compareDeprecation(operation)
  // A gone operation responds 410 to any request, so no change of its requests and responses is breaking.
  const isAnswered = !isGone(was.node, root.comparison.nowMs)
  compareParts(isAnswered ? operation : { ...operation, bumpMax: 'patch' }, was, is)
}

function compareParts(operation: Spot, was: Operation, is: Operation): void {
  const { before, after } = operation
  if (before.operationId !== after.operationId) {
    // An operationId is not sent, but generated clients use it as a function name.
    report(operation, 'minor', `operationId ${before.operationId} -> ${after.operationId}`, 'operationId')
  }
  // Without it, a client that repeats requests would repeat their effects.
  compareFlag(operation, 'x-idempotent', ['minor', 'idempotent'], ['major', 'no longer idempotent'])
  compareOwnLimits(operation)
  compareSecurity(operation)
  compareOwnServers(operation, { before: was.item, after: is.item })
  compareParameters(operation, was, is)
  compareBody(operation)
  compareResponses(child(operation, 'responses'))
  compareCallbacks(child(operation, 'callbacks'))
}

function compareParameters(operation: Spot, was: Operation, is: Operation): void {
  const at = (before: Node, after = before) => {
    return { ...operation, before, after, where: `${after.in}.${after.name}` }
  }
  const { before, after } = parametersOf(operation, { was, is })
  eachEntry(before, after, {
    // The service rejects unknown query parameters.
    removed: (node) => report(at(node), 'major', 'removed', wholeNode),
    added: (node) => report(at(node), ...additionOf(at(node)), wholeNode),
    kept: (before, after) => compareParameter(at(before, after)),
  })
}

// Returns the bump and the text for an added parameter or body.
function additionOf(spot: Spot): [Bump, string] {
  return spot.after.required === true && !isFilledIn(child(spot, 'schema'))
    ? ['major', 'added, required']
    : ['minor', 'added']
}

/**
 * Returns the effective parameters of both operations, by location and by name, or by position if in the
 * path.
 */
export function parametersOf(
  { comparison: { documents } }: Spot,
  { was, is }: OperationPair,
): { readonly before: ReadonlyMap<string, Node>; readonly after: ReadonlyMap<string, Node> } {
  return { before: parametersIn(documents.before, was), after: parametersIn(documents.after, is) }
}

function parametersIn(document: Node, { path, item, node }: Operation): ReadonlyMap<string, Node> {
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  const parameters = effectiveParameters(new Reader(document), item, node)
  return new Map(
    parameters.map((parameter) => {
      const { in: place, name } = parameter
      return [`${place}.${place === 'path' ? names.indexOf(String(name)) : name}`, parameter]
    }),
  )
}

function compareParameter(parameter: Spot): void {
  compareValue(parameter, 'allowEmptyValue', (_, isAllowed) => (isAllowed ? 'minor' : 'major'))
  compareField(parameter)
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
      // Compatible if some statuses replace their class, or if `default` describes the status equally.
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

// Returns `5XX` for 503; an empty text for a class itself.
function classOf(status: string): string {
  return /^\d{3}$/.test(status) ? `${status.charAt(0)}XX` : ''
}

// Clients treat an unknown error like x00 of its class (RFC 9110, section 15), but cannot read an unknown
// success.
function bumpOfResponse(status: string): Bump {
  return /^[123]/.test(status) ? 'major' : 'minor'
}

function compareResponse(response: Spot): void {
  compareKeys(child(response, 'headers'), (name) => `header.${name}`, compareField)
  compareContent(child(response, 'content', 'body'))
}
