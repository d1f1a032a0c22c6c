// What changed between two versions of a contract, for those who call the API: every rule in turn, and what is
// left over.
//
// Written here because no kept library on the npm registry does this for OpenAPI 3.1. Those that were judged, in
// November 2026, on this contract:
// - openapi-diff 0.24.1 (Atlassian) refuses it: "Unsupported OpenAPI version: 3.1.0". By its own table it does not
//   look at parameters, security or deprecation.
// - api-smart-diff 1.0.6 names OpenAPI 3.0 only, and its last commit seen is of July 2024. It takes a field of an
//   answer that may become null, or fall below its former minimum, for harmless, and a key no longer asked for
//   as breaking.
// - @useoptic/standard-rulesets 1.0.9 brings 235 packages and 86 MB, an AI client among them; last commit seen:
//   August 2025.
// - @pb33f/openapi-changes 0.0.67 needs an install script, to bring a Go program.
// - oasdiff, which knows 3.1 since its 1.15, is a Go program; its name on npm is a placeholder without code. What it finds
//   is beside what is found here in scripts/diff-comparison.
// - @netcracker/qubership-apihub-api-diff and openapi-changes are not on the registry.
// None would know of plans, sunsets and the status of an error code, which are promises of this contract.

import { compareWebhooks } from './callbacks.js'
import { type Change, changesOf, comparisonOf } from './comparison.js'
import { compareDocumentation } from './documentation.js'
import { compareLimits } from './limits.js'
import type { Node } from './node.js'
import { compareOperations } from './operations.js'
import { compareSecuritySchemes } from './security.js'
import { compareServers } from './servers.js'

/**
 * What changed between two parsed OpenAPI documents: breaking changes first, then by place. The version itself
 * (`info.version`) is no change: see `judgeVersion`.
 * @throws {DiffError} where a `$ref` leads nowhere.
 */
export function diffContracts(before: Node, after: Node): Change[] {
  const comparison = comparisonOf({ before, after })
  compareServers(comparison)
  compareLimits(comparison)
  compareSecuritySchemes(comparison)
  compareOperations(comparison)
  compareWebhooks(comparison)
  compareDocumentation(comparison)
  return changesOf(comparison)
}
