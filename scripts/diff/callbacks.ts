// Callbacks and webhooks: requests that the service sends. Clients read the request and write the response, so the directions are
// reversed.

import { type Comparison, compareKeys, report, type Spot } from './comparison.js'
import { compareContent } from './content.js'
import type { Pair } from './node.js'
import { child, same } from './references.js'

/** Reports changes of webhooks. */
export function compareWebhooks(comparison: Comparison): void {
  compareItems(comparison, { place: 'webhooks', where: '' }, child(comparison, comparison, 'webhooks'))
}

/** Reports changes of an operation's callbacks. */
export function compareCallbacks(comparison: Comparison, { place }: Spot, callbacks: Pair): void {
  const at = (name: string) => ({ place, where: `callback.${name}` })
  compareKeys(comparison, callbacks, at, (name) =>
    compareItems(comparison, at(name), child(comparison, callbacks, name)),
  )
}

function compareItems(comparison: Comparison, { place, where }: Spot, items: Pair): void {
  const at = (name: string) => ({ place, where: [where, name].filter(Boolean).join('.') })
  compareKeys(comparison, items, at, (name) =>
    compareItem(comparison, at(name), child(comparison, items, name)),
  )
}

function compareItem(comparison: Comparison, spot: Spot, item: Pair): void {
  const compareMethod = (method: string) => compareRequest(comparison, spot, child(comparison, item, method))
  const prefixOf = (method: string) => `${method} `
  compareKeys(comparison, item, () => spot, compareMethod, prefixOf)
}

function compareRequest(comparison: Comparison, spot: Spot, operation: Pair): void {
  const { place, where } = spot
  const body = child(comparison, operation, 'requestBody')
  const at = { place, where: `${where}.body` }
  compareContent(comparison, at, 'response', child(comparison, body, 'content'))
  for (const key of ['parameters', 'security']) {
    if (same(comparison, operation.before[key], operation.after[key])) continue
    report(comparison, spot, 'major', `${key} changed`, operation, key)
  }
  const responses = child(comparison, operation, 'responses')
  const compareResponse = (status: string) => {
    const content = child(comparison, child(comparison, responses, status), 'content')
    compareContent(comparison, { place, where: `${where}.${status} body` }, 'request', content)
  }
  const prefixOf = (status: string) => `response ${status} `
  compareKeys(comparison, responses, () => spot, compareResponse, prefixOf)
}
