// Headers that the caller adds to requests.

import { keySchemeOf } from './credentials.js'
import type { ClientTable } from './table.js'

/** Headers by name. Undefined ones are not sent. */
export type GivenHeaders = Readonly<Record<string, string | undefined>>

// Headers that the client writes, and where their values come from. With an Idempotency-Key for the whole
// client, the service would take all creations for one.
const written: Readonly<Record<string, string>> = {
  'content-type': 'it follows from the body',
  'idempotency-key': 'give it in `header`, for one call',
}

/**
 * Adds headers, in lower case, to others, and replaces those with the same name.
 * @throws {TypeError} if a header is invalid, or is written by the client itself
 */
export function readHeaders(
  before: GivenHeaders,
  given: unknown = {},
  table: Pick<ClientTable, 'securitySchemes'> = { securitySchemes: {} },
): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Symbol.iterator in given)
    throw new TypeError('headers must be an object with a string for each name')
  const all = Object.entries({ ...before, ...lowerCase(given) }).filter(([, value]) => value !== undefined)
  const own = { ...written, ...ofCredentials(table) }
  return Object.fromEntries(all.map(([name, value]) => [name, readHeader(name, value, own)]))
}

function lowerCase(given: object): object {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
}

// Returns the headers of the security schemes, in lower case.
function ofCredentials({ securitySchemes }: Pick<ClientTable, 'securitySchemes'>): Record<string, string> {
  const reason = keySchemeOf(securitySchemes) ? 'give the key as `key`' : 'give it as `security`'
  const names = Object.values(securitySchemes).flatMap(({ in: location, name }) =>
    location === 'header' ? name.toLowerCase() : location === 'authorization' ? location : [],
  )
  return Object.fromEntries(names.map((name) => [name, reason]))
}

function readHeader(name: string, value: unknown, own: Readonly<Record<string, string>>): string {
  const reason = Object.hasOwn(own, name) ? own[name] : undefined
  if (reason !== undefined) throw new TypeError(`headers must not contain ${name}: ${reason}`)
  if (typeof value !== 'string') throw new TypeError(`headers: ${name} must be a string`)
  new Headers([[name, value]]) // throws a TypeError if it cannot be sent
  return value
}
