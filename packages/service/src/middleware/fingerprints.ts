// The fingerprint of a request: a repetition with the same Idempotency-Key must have the same fingerprint.
// Stored fingerprints outlive the release that made them, so each has a version: without it, an upgrade could
// take a repetition for another request and store it twice. An edit that changes the fingerprint adds a
// version. The old one stays here for `keepHours` after the last release that made it.

import { hash } from 'node:crypto'
import type { Operation, requestParts } from 'contract-engine'
import { canonicalJson } from '../lib/canonical-json.js'

/** The header, in lower case as in Node's `headers`. */
export const idempotencyHeader = 'idempotency-key'

/** The parts of a request that a repetition must have in common with it. */
export interface Request {
  readonly parts: ReturnType<typeof requestParts>
  /** The name of the operation, unique among all contracts. */
  readonly name: string
  /** The media type of the body. */
  readonly mediaType: string | undefined
}

type Make = (request: Request, declared: readonly Declared[]) => string

const versions: Readonly<Record<number, Make>> = { 1: hashValidated }

/** The version of new fingerprints. */
export const currentVersion = 1

/**
 * Returns a function that makes the fingerprints of an operation's requests, in Base64. It returns undefined
 * for the version of a later release.
 */
export function createFingerprints(
  operation: Operation,
): (request: Request, version: number) => string | undefined {
  const declared = outsideUrl(operation)
  return (request, version) => versions[version]?.(request, declared)
}

// Requests are the same if their operation and their validated parameters and body are, however they were
// written.
function hashValidated(request: Request, declared: readonly Declared[]): string {
  const { parts, name: ofOperation, mediaType } = request
  const { params, query, body } = parts
  const others: Record<string, unknown> = {}
  for (const { label, part, name } of declared) others[label] = Object(parts[part])[name]
  const type = body === undefined ? undefined : mediaType?.toLowerCase()
  const identical = [ofOperation, params, query, others, type, body]
  return hash('sha256', canonicalJson(identical) as string, 'base64') // a list always has a JSON text
}

interface Declared {
  /** Unique among the declared parameters. */
  readonly label: string
  readonly part: 'cookies' | 'headers'
  readonly name: string
}

const ofAttempt = [idempotencyHeader, 'x-request-id']

// Returns the declared headers and cookies, except the key itself and the request id, which differs between
// attempts. Proxies and browsers send undeclared ones.
function outsideUrl({ parameters }: Operation): Declared[] {
  return parameters.flatMap(({ name, in: location }): Declared[] => {
    const label = `${location} ${name}`
    if (location === 'cookie') return [{ label, part: 'cookies', name }]
    const inLowerCase = name.toLowerCase()
    if (location !== 'header' || ofAttempt.includes(inLowerCase)) return []
    return [{ label, part: 'headers', name: inLowerCase }]
  })
}
