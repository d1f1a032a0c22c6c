// The fingerprint of a request: a repetition with the same Idempotency-Key must have that of the first. A
// stored one outlives the release that made it, so each has a version. An edit that changes a fingerprint
// adds a version here, and the one before stays for `keepHours` after the last release that made it.

import { hash } from 'node:crypto'
import type { Operation, requestParts } from 'contract-engine'
import { stringify } from 'lossless-json'

/** In lower case as in Node's `headers`. */
export const idempotencyHeader = 'idempotency-key'

/** What a repetition must have in common with the first request. */
export interface Request extends ReturnType<typeof requestParts> {
  readonly operation: Operation
  /** Of the operation, among those of all contracts. */
  readonly name: string
  /** The media type of the body. */
  readonly mediaType: string | undefined
}

type Make = (request: Request) => string

const versions: Readonly<Record<number, Make>> = { 1: hashValidated }

/** The version of the fingerprints that are stored. */
export const currentVersion = 1

/** The fingerprint of a request in Base64; undefined for a version of a later release. */
export function fingerprintOf(request: Request, version: number): string | undefined {
  return versions[version]?.(request)
}

// A request is the same if its operation, and its parameters and body as validated, are: not as they were
// written.
function hashValidated(request: Request): string {
  const { operation, name: ofOperation, params, query, headers, cookies, mediaType, body } = request
  const { parameters } = operation
  const others = parameters.filter(isOutsideUrl).map(({ name, in: location }) => {
    const values = Object(location === 'cookie' ? cookies : headers)
    return [`${location} ${name}`, values[location === 'cookie' ? name : name.toLowerCase()]]
  })
  const type = body === undefined ? undefined : mediaType?.toLowerCase()
  const parts = [ofOperation, params, query, Object.fromEntries(others), type, body]
  return hash('sha256', stringify(parts, inOrder) ?? '', 'base64')
}

// The declared headers and cookies, other than the key itself and the id, which names an attempt. Others are
// sent by proxies and browsers.
function isOutsideUrl({ name, in: location }: Operation['parameters'][number]): boolean {
  const isOfAttempt = [idempotencyHeader, 'x-request-id'].includes(name.toLowerCase())
  return location === 'cookie' || (location === 'header' && !isOfAttempt)
}

function inOrder(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return hash('sha256', value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}
