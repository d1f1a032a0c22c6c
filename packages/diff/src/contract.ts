// Compares two versions of a contract as clients see them: runs every rule, then reports the rest.
//
// It is written here because no maintained library on the npm registry does this for OpenAPI 3.1. Evaluated
// on a contract of 3.1 in November 2026:
// - openapi-diff 0.24.1 (Atlassian) rejects it: "Unsupported OpenAPI version: 3.1.0". Its own table excludes
//   parameters, security and deprecation.
// - api-smart-diff 1.0.6 names OpenAPI 3.0 only; last commit seen in July 2024. It classifies a response
//   field that may become null, or fall below its former minimum, as non-breaking, and a removed security
//   requirement as breaking.
// - @useoptic/standard-rulesets 1.0.9 has 235 packages and 86 MB, an AI client among them; last commit seen
//   in August 2025.
// - @pb33f/openapi-changes 0.0.67 needs an install script, which downloads a Go program.
// - oasdiff, which supports 3.1 since its 1.15, is a Go program; its name on npm is an empty placeholder.
//   scripts/comparisons/diff compares its results with these.
// - @netcracker/qubership-apihub-api-diff and openapi-changes are not on the registry.
// None of them knows plans, sunsets and the status of an error code, which contracts of contract-engine
// promise.

import { addOmitted, resolved, withDecisions } from 'contract-engine/tools'
import { compareWebhooks } from './callbacks.js'
import { type Change, changesOf, rootOf } from './comparison.js'
import { compareDocumentation } from './documentation.js'
import { compareLimits } from './limits.js'
import type { Node } from './node.js'
import { pairOperations } from './operation-pairs.js'
import { compareOperations } from './operations.js'
import { compareSecuritySchemes } from './security.js'
import { compareServers } from './servers.js'

/**
 * Returns the changes between two parsed OpenAPI documents that a client can see: breaking changes first,
 * then by place.
 * `info.version` is not a change: see `checkVersion`.
 * @throws {DiffError} if the target of a `$ref` does not exist
 */
export function diffContracts(before: Node, after: Node, nowMs = Date.now()): Change[] {
  const root = rootOf({ before: decided(before), after: decided(after) }, nowMs)
  const operations = pairOperations(root)
  compareServers(root)
  compareLimits(root)
  compareSecuritySchemes(root, operations)
  compareOperations(root, operations)
  compareWebhooks(root)
  compareDocumentation(root, operations)
  return changesOf(root)
}

// Decides about a document as the server does when it reads it.
function decided(document: Node): Node {
  return resolved(addOmitted(withDecisions(document).document).document) as Node
}
