// Callbacks and webhooks: requests that the service sends. Clients read the request and write the response,
// so the directions are reversed.

import type { Spot } from './comparison.js'
import { compareContent } from './content.js'
import { child, partOf } from './references.js'
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
  const prefixOf = (method: string) => `${method} `
  compareKeys(item, () => item.where, compareRequest, prefixOf)
}

function compareRequest(operation: Spot): void {
  const { where } = operation
  const content = child(child(operation, 'requestBody'), 'content', `${where}.body`)
  compareContent({ ...content, direction: 'response' })
  compareOpaque(operation, ['parameters', 'security'])
  const prefixOf = (status: string) => `response ${status} `
  const compareResponse = (response: Spot, status: string) =>
    compareContent(child(response, 'content', `${where}.${status} body`))
  compareKeys(child(operation, 'responses'), () => where, compareResponse, prefixOf)
}
