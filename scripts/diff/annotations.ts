// Formats changes as GitHub workflow commands, which GitHub shows as annotations at the lines of a pull request.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { Change, Path } from './comparison.js'
import { summaryOf } from './report.js'
import type { VersionCheck } from './version.js'

/** The contract in the working tree. */
export interface Source {
  /** Relative to the root of the repository. */
  readonly file: string
  readonly text: string
}

/**
 * An annotation for each change: an error for a breaking change, or a warning if there is a new major version, and a notice for
 * any other. If the version was not raised far enough, a warning is added.
 */
export function toGithub({ file, text }: Source, changes: readonly Change[], version: VersionCheck): string {
  const positionOf = locator(text)
  const command = (level: string, at: Path, title: string, message: string) => {
    const { line, col } = positionOf(at)
    const properties = Object.entries({ file, line, col, title }).map(
      ([key, value]) => `${key}=${escapeProperty(value)}`,
    )
    return `::${level} ${properties.join(',')}::${escapeMessage(message)}\n`
  }
  const levels = { major: version.isEnough ? 'warning' : 'error', minor: 'notice', patch: 'notice' }
  const titles = { major: 'Breaking change', minor: 'Addition', patch: 'Documentation' }
  const lines = changes.map(({ bump, place, where, what, at }) =>
    command(levels[bump], at, titles[bump], `${[place, where].filter(Boolean).join('  ')}: ${what}`),
  )
  if (version.isEnough) return lines.join('')
  return [...lines, command('warning', ['info', 'version'], 'Version', summaryOf(changes, version))].join('')
}

// Finds the position of a path, or of the longest part of it that exists.
function locator(text: string): (at: Path) => { line: number; col: number } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  return (at) => {
    let [node, offset]: [unknown, number] = [document.contents, 0]
    for (const key of at) {
      const inside = isAlias(node) ? node.resolve(document) : node
      const pair =
        isMap(inside) && inside.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
      const next: unknown = pair ? pair.value : isSeq(inside) && inside.items[Number(key)]
      const start = rangeOf(pair ? pair.key : next)
      if (start === undefined) break
      ;[node, offset] = [next, start]
    }
    return lines.linePos(offset)
  }
}

function rangeOf(node: unknown): number | undefined {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined
  return Array.isArray(range) ? Number(range[0]) : undefined
}

// https://docs.github.com/actions/reference/workflow-commands-for-github-actions, escaped as in GitHub's actions/toolkit.
function escapeMessage(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(value: string | number): string {
  return escapeMessage(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
