// Compares callbacks and webhooks, which are requests that the service sends. Clients read the request and
// write the response, so the directions are reversed.

import { effectiveParameters, operationsIn, Reader } from 'contract-engine/tools'
import { report, type Spot, wholeNode } from './comparison.js'
import { compareContent } from './content.js'
import { compareField, compareRequired } from './fields.js'
import { eachEntry, type Node } from './node.js'
import { child, inside, partOf } from './references.js'
import { compareKeys, compareOpaque } from './rules.js'

/** Reports changes of webhooks. */
export function compareWebhooks(root: Spot): void {
  compareItems(partOf(root, 'webhooks'))
}

/** Reports changes of an operation's callbacks. */
export function compareCallbacks(callbacks: Spot): void {
  compareKeys(callbacks, (name) => `callback.${name}`, compareItems)
}

function compareItems(items: Spot): void {
  compareKeys(items, (name) => [items.where, name].filter(Boolean).join('.'), compareItem)
}

function compareItem(item: Spot): void {
  const methodsIn = (node: Node) => {
    return new Map(operationsIn(node).map(([method, operation]) => [method, { method, operation }]))
  }
  eachEntry(methodsIn(item.before), methodsIn(item.after), {
    removed: ({ method }) => report(item, 'major', `${method} removed`, fieldOf(item, method)),
    added: ({ method }) => report(item, 'minor', `${method} added`, fieldOf(item, method)),
    kept: (was, is) => compareRequest(item, inside(item, was.operation, is.operation)),
  })
}

// Returns the field of a path item that contains the operation.
function fieldOf({ before, after }: Spot, method: string): string {
  const field = method.toLowerCase()
  return field in before || field in after ? field : 'additionalOperations'
}

function compareRequest(item: Spot, operation: Spot): void {
  const { where } = operation
  const sent = { ...operation, direction: 'response' } as const
  compareHeaders(item, sent)
  const body = child(sent, 'requestBody', `${where}.body`)
  if (operation.before.requestBody !== undefined && operation.after.requestBody !== undefined)
    compareRequired(body)
  compareContent(child(body, 'content'))
  compareOpaque(operation, ['security'])
  const compareResponse = (response: Spot, status: string) =>
    compareContent(child(response, 'content', `${where}.${status} body`))
  compareKeys(
    child(operation, 'responses'),
    () => where,
    compareResponse,
    (status) => `response ${status} `,
  )
}

// Compares the parameters of a request that the service sends. A receiver reads them, and ignores unknown
// ones.
function compareHeaders(item: Spot, sent: Spot): void {
  const { documents } = sent.comparison
  const parametersIn = (side: 'before' | 'after') => {
    const all = effectiveParameters(new Reader(documents[side]), item[side], sent[side])
    return new Map(all.map((each) => [`${each.in}.${each.name}`, each]))
  }
  const at = (before: Node, after = before) => {
    return { ...sent, before, after, where: `${sent.where}.${after.in}.${after.name}` }
  }
  eachEntry(parametersIn('before'), parametersIn('after'), {
    removed: (node) => report(at(node), 'major', 'removed', wholeNode),
    added: (node) => report(at(node), 'minor', 'added', wholeNode),
    kept: (before, after) => compareField(at(before, after)),
  })
}
