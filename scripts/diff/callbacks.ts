// Callbacks and webhooks: requests that the service sends. Clients read the request and write the response, so the directions are
// reversed.

import { type Comparison, compareKeys, type Location, report } from './comparison.js'
import { compareContent } from './content.js'
import type { Pair } from './node.js'
import { child, same } from './references.js'

/** Reports changes of webhooks. */
export function compareWebhooks(comparison: Comparison): void {
  compareItems(comparison, { place: 'webhooks', where: '' }, child(comparison, comparison, 'webhooks'))
}

/** Reports changes of an operation's callbacks. */
export function compareCallbacks(comparison: Comparison, { place }: Location, callbacks: Pair): void {
  const at = (name: string) => ({ place, where: `callback.${name}` })
  compareKeys(comparison, callbacks, at, (name) =>
    compareItems(comparison, at(name), child(comparison, callbacks, name)),
  )
}

function compareItems(comparison: Comparison, { place, where }: Location, items: Pair): void {
  const at = (name: string) => ({ place, where: [where, name].filter(Boolean).join('.') })
  compareKeys(comparison, items, at, (name) =>
    compareItem(comparison, at(name), child(comparison, items, name)),
  )
}

function compareItem(comparison: Comparison, location: Location, item: Pair): void {
  const compareMethod = (method: string) =>
    compareRequest(comparison, location, child(comparison, item, method))
  compareKeys(
    comparison,
    item,
    () => location,
    compareMethod,
    (method) => `${method} `,
  )
}

function compareRequest(comparison: Comparison, { place, where }: Location, operation: Pair): void {
  const body = child(comparison, operation, 'requestBody')
  const at = { place, where: `${where}.body` }
  compareContent(comparison, at, 'response', child(comparison, body, 'content'))
  for (const key of ['parameters', 'security']) {
    if (same(comparison, operation.before[key], operation.after[key])) continue
    report(comparison, { place, where }, 'major', `${key} changed`, operation, key)
  }
  const responses = child(comparison, operation, 'responses')
  const compareResponse = (status: string) => {
    const content = child(comparison, child(comparison, responses, status), 'content')
    compareContent(comparison, { place, where: `${where}.${status} body` }, 'request', content)
  }
  compareKeys(
    comparison,
    responses,
    () => ({ place, where }),
    compareResponse,
    (status) => `response ${status} `,
  )
}
