// Whether the version keeps its word about the changes (semver.org: breaking, added, mended).

import { type Bump, bumps, type Change } from './comparison.js'
import { isNode, type Node } from './node.js'
import { serverPaths } from './servers.js'

/** What the changes ask of the version, and whether it does that. */
export interface Judgement {
  /** The part of the version that the changes call for. */
  readonly bump: Bump | 'none'
  /** `info.version`, in both. */
  readonly before: string
  readonly after: string
  /** Whether the version, or the version segment of the servers' path, was raised that far. */
  readonly isEnough: boolean
  /** Whether that segment was. */
  readonly isNewPath: boolean
}

/** Judges the version of the document after by the changes that led to it. */
export function judgeVersion(before: Node, after: Node, changes: readonly Change[]): Judgement {
  const bump = bumps.find((bump) => changes.some((change) => change.bump === bump)) ?? 'none'
  const versions = { before: versionOf(before), after: versionOf(after) }
  const isNewPath = isNewSegment(before, after)
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

function numbersOf(version: string): number[] {
  return (/^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number)
}

// `/v2` where `/v1` was is a new interface beside the old one.
function isNewSegment(before: Node, after: Node): boolean {
  const [was, is] = [segmentOf(before), segmentOf(after)]
  return was !== undefined && is !== undefined && is > was
}

function segmentOf(document: Node): number | undefined {
  const versions = serverPaths(document).flatMap((path) => /\/v(\d+)(?=\/|$)/.exec(path)?.[1] ?? [])
  return versions.length > 0 ? Math.max(...versions.map(Number)) : undefined
}
