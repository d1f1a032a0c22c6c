// What the service sends to its callers: callbacks and webhooks. There they read the request and write the answer.

import { type Comparison, report, type Spot } from './comparison.js'
import { compareContent } from './content.js'
import { eachKey, type Pair } from './node.js'
import { child, same } from './references.js'

/** Reports webhooks that went, came or changed. */
export function compareWebhooks(comparison: Comparison): void {
  compareItems(comparison, { place: 'webhooks', where: '' }, child(comparison, comparison, 'webhooks'))
}

/** Reports callbacks of an operation that went, came or changed. */
export function compareCallbacks(comparison: Comparison, { place }: Spot, callbacks: Pair): void {
  const at = (name: string) => ({ place, where: `callback.${name}` })
  eachKey(callbacks, {
    removed: (name) => report(comparison, at(name), 'major', 'removed', callbacks, name),
    added: (name) => report(comparison, at(name), 'minor', 'added', callbacks, name),
    kept: (name) => compareItems(comparison, at(name), child(comparison, callbacks, name)),
  })
}

function compareItems(comparison: Comparison, { place, where }: Spot, items: Pair): void {
  const at = (name: string) => ({ place, where: [where, name].filter(Boolean).join('.') })
  eachKey(items, {
    removed: (name) => report(comparison, at(name), 'major', 'removed', items, name),
    added: (name) => report(comparison, at(name), 'minor', 'added', items, name),
    kept: (name) => compareItem(comparison, at(name), child(comparison, items, name)),
  })
}

function compareItem(comparison: Comparison, spot: Spot, item: Pair): void {
  eachKey(item, {
    removed: (method) => report(comparison, spot, 'major', `${method} removed`, item, method),
    added: (method) => report(comparison, spot, 'minor', `${method} added`, item, method),
    kept: (method) => compareSent(comparison, spot, child(comparison, item, method)),
  })
}

function compareSent(comparison: Comparison, { place, where }: Spot, operation: Pair): void {
  const body = child(comparison, operation, 'requestBody')
  const at = { place, where: `${where}.body` }
  compareContent(comparison, at, 'response', child(comparison, body, 'content'))
  for (const key of ['parameters', 'security']) {
    if (same(comparison, operation.before[key], operation.after[key])) continue
    report(comparison, { place, where }, 'major', `${key} changed`, operation, key)
  }
  const responses = child(comparison, operation, 'responses')
  eachKey(responses, {
    removed: (status) =>
      report(comparison, { place, where }, 'major', `response ${status} removed`, responses, status),
    added: (status) =>
      report(comparison, { place, where }, 'minor', `response ${status} added`, responses, status),
    kept: (status) => {
      const content = child(comparison, child(comparison, responses, status), 'content')
      compareContent(comparison, { place, where: `${where}.${status} body` }, 'request', content)
    },
  })
}
