// Warns about what proxies in front of a server do: they drop header fields by their names, and caches store
// responses for later requests of anyone.

import type { Contract, Operation } from '../document/contract.js'
import type { Problem } from '../document/contract-error.js'
import { problemOf } from '../document/methods.js'
import { credentialPlace } from '../document/security.js'
import { hasEntityTags } from '../serve/response/entity-tags.js'

/**
 * Returns a warning for each header field that proxies drop, and for each response that a shared cache may
 * store.
 */
export function proxyWarnings(contract: Contract): Problem[] {
  const operations = [...contract.operations.values()]
  return [
    ...droppedKeys(contract),
    ...operations.flatMap((operation) => [
      ...droppedParameters(operation),
      ...sharedResponses(operation, contract),
    ]),
  ]
}

// Other names are "invalid" to nginx (ignore_invalid_headers), and ambiguous where `-` becomes `_`, as in
// CGI.
const keptName = /^[A-Za-z\d-]+$/
const advice = 'nginx and other proxies drop it, unless told otherwise: use letters, digits and hyphens'

function droppedParameters(operation: Operation): Problem[] {
  return operation.parameters
    .filter(({ in: location, name }) => location === 'header' && !keptName.test(name))
    .map(({ name }) => problemOf(operation, `${operation.id}: the header parameter ${name}: ${advice}`))
}

function droppedKeys({ securitySchemes }: Contract): Problem[] {
  return [...securitySchemes].flatMap(([scheme, definition]) => {
    const place = credentialPlace(definition)
    if (place?.in !== 'header' || keptName.test(place.name)) return []
    const text = `the security scheme ${scheme}: the header ${definition.name}: ${advice}`
    return [{ text, at: ['components', 'securitySchemes', scheme] }]
  })
}

// A cache stores no response to a request with `Authorization` (RFC 9111, section 3.5), but other fields with
// keys mean nothing to it. It may store a 200 without `Cache-Control`, and keeps a response with an entity
// tag longest.
function sharedResponses(operation: Operation, contract: Contract): Problem[] {
  if (!operation.isSafe || hasEntityTags(operation)) return []
  const key = keyBesideAuthorization(operation, contract)
  if (key === undefined) return []
  return [...operation.responses.values()]
    .filter(({ status }) => /^(2|default$)/.test(status))
    .filter(({ headers }) => has(headers, 'etag') && !has(headers, 'cache-control'))
    .map(({ status }) => {
      const text =
        `${operation.id}: the response ${status} has an ETag and no Cache-Control, and its key is in ${key}: ` +
        'a shared cache may store it for others: declare Cache-Control, and send private'
      return problemOf(operation, text)
    })
}

function keyBesideAuthorization({ security }: Operation, { securitySchemes }: Contract): string | undefined {
  const places = security.flat().map(({ name }) => credentialPlace(securitySchemes.get(name)))
  const found = places.find(
    (each) => each?.in === 'cookie' || (each?.in === 'header' && each.name !== 'authorization'),
  )
  return found && `the ${found.in} ${found.name}`
}

function has(headers: Iterable<{ readonly name: string }>, name: string): boolean {
  return [...headers].some((each) => each.name.toLowerCase() === name)
}
