// The fingerprint of a request: a repetition with the same Idempotency-Key must have that of the first. A
// stored one outlives the release that made it, so each has a version: without, an upgrade could take a
// repetition for another request. An edit that changes a fingerprint adds a version here, and the one before
// stays for `keepHours` after the last release that made it.

import { hash } from 'node:crypto'
import type { Operation, requestParts } from 'contract-engine'
import { canonicalJson } from '../lib/canonical-json.js'

/** In lower case as in Node's `headers`. */
export const idempotencyHeader = 'idempotency-key'

/** What a repetition must have in common with the first request. */
export interface Request {
  readonly parts: ReturnType<typeof requestParts>
  /** Of the operation, among those of all contracts. */
  readonly name: string
  /** The media type of the body. */
  readonly mediaType: string | undefined
}

type Make = (request: Request, declared: readonly Declared[]) => string

const versions: Readonly<Record<number, Make>> = { 1: hashValidated }

/** The version of the fingerprints that are stored. */
export const currentVersion = 1

/**
 * Makes the fingerprints of an operation's requests in Base64.
 * @returns a function that returns undefined for a version of a later release
 */
export function createFingerprints(
  operation: Operation,
): (request: Request, version: number) => string | undefined {
  const declared = outsideUrl(operation)
  return (request, version) => versions[version]?.(request, declared)
}

// A request is the same if its operation, and its parameters and body as validated, are: not as they were
// written.
function hashValidated(request: Request, declared: readonly Declared[]): string {
  const { parts, name: ofOperation, mediaType } = request
  const { params, query, body } = parts
  const others: Record<string, unknown> = {}
  for (const { label, part, name } of declared) others[label] = Object(parts[part])[name]
  const type = body === undefined ? undefined : mediaType?.toLowerCase()
  const identical = [ofOperation, params, query, others, type, body]
  return hash('sha256', canonicalJson(identical) as string, 'base64') // a list has a text
}

interface Declared {
  /** Of all that a request declares, one. */
  readonly label: string
  readonly part: 'cookies' | 'headers'
  readonly name: string
}

const ofAttempt = [idempotencyHeader, 'x-request-id']

// The declared headers and cookies, other than the key itself and the id, which names an attempt. Others are
// sent by proxies and browsers.
function outsideUrl({ parameters }: Operation): Declared[] {
  return parameters.flatMap(({ name, in: location }): Declared[] => {
    const label = `${location} ${name}`
    if (location === 'cookie') return [{ label, part: 'cookies', name }]
    const inLowerCase = name.toLowerCase()
    if (location !== 'header' || ofAttempt.includes(inLowerCase)) return []
    return [{ label, part: 'headers', name: inLowerCase }]
  })
}
