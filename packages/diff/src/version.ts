// Checks that the version was raised as the changes require (semver.org: major for breaking changes, minor
// for additions).

import { type Bump, bumps, type Change } from './comparison.js'
import { isNode, type Node } from './node.js'
import { urlsOf } from './operation-pairs.js'

/** The version that the changes require, compared with the actual one. */
export interface VersionCheck {
  /** The part of the version that the changes require to be raised. */
  readonly bump: Bump | 'none'
  /** `info.version` in both documents. */
  readonly before: string
  readonly after: string
  /** True if `info.version`, or the version in the paths of all URLs, was raised far enough. */
  readonly isEnough: boolean
  /** True if the version in the paths of all URLs was raised. */
  readonly isNewPath: boolean
}

/** Checks the version of the second document against the changes. */
export function checkVersion(before: Node, after: Node, changes: readonly Change[]): VersionCheck {
  const bump = bumps.find((bump) => changes.some((change) => change.bump === bump)) ?? 'none'
  const versions = { before: versionOf(before), after: versionOf(after) }
  const isNewPath = isPathRaised(before, after)
  const raised = isNewPath ? 'major' : raisedPart(versions.before, versions.after)
  const isEnough = bump === 'none' || (raised !== 'none' && bumps.indexOf(raised) <= bumps.indexOf(bump))
  return { bump, ...versions, isEnough, isNewPath }
}

function versionOf({ info }: Node): string {
  return String(isNode(info) ? info.version : undefined)
}

function raisedPart(before: string, after: string): Bump | 'none' {
  const [was, is] = [numbersOf(before), numbersOf(after)]
  const at = bumps.findIndex((_, i) => was[i] !== is[i])
  return Number(is[at]) > Number(was[at]) ? (bumps[at] ?? 'none') : 'none'
}

// Many contracts have `1.0` or `v1`, which mean 1.0.0. A date is no version that tells a break.
function numbersOf(version: string): number[] {
  const [, ...numbers] = /^v?(\d+)(?:\.(\d+)(?:\.(\d+).*)?)?$/s.exec(version) ?? []
  return numbers.map((each) => Number(each ?? 0))
}

// For every operation, `/v1` -> `/v2` makes a new API beside the old one.
function isPathRaised(before: Node, after: Node): boolean {
  return Math.max(...pathVersionsOf(before)) < Math.min(...pathVersionsOf(after))
}

// Returns the version in each path; NaN, which is not less than any number, for a path without a version, or
// if there are no paths.
function pathVersionsOf(document: Node): number[] {
  const versions = urlsOf(document).map((url) => Number(/\/v(\d+)(?=\/|$)/.exec(url)?.[1]))
  return versions.length > 0 ? versions : [Number.NaN]
}
