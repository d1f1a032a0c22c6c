// What changed, as GitHub's workflow commands: annotations at the lines of a pull request.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { Change, Path } from './comparison.js'
import { summaryOf } from './report.js'
import type { Judgement } from './version.js'

/** The contract as it is now. */
export interface Written {
  /** From the root of the repository. */
  readonly file: string
  readonly text: string
}

/**
 * An annotation for each change, and one for a version that is not enough: an error for what breaks without a new major
 * version, a warning for what breaks with one or asks for another version, a notice for the rest.
 */
export function toGithub({ file, text }: Written, changes: readonly Change[], judgement: Judgement): string {
  const positionOf = locator(text)
  const command = (level: string, at: Path, title: string, message: string) => {
    const { line, col } = positionOf(at)
    const properties = Object.entries({ file, line, col, title }).map(
      ([key, value]) => `${key}=${inProperty(value)}`,
    )
    return `::${level} ${properties.join(',')}::${inMessage(message)}\n`
  }
  const levels = { major: judgement.isEnough ? 'warning' : 'error', minor: 'notice', patch: 'notice' }
  const titles = { major: 'Breaking change', minor: 'Addition', patch: 'Documentation' }
  const lines = changes.map(({ bump, place, where, what, at }) =>
    command(levels[bump], at, titles[bump], `${[place, where].filter(Boolean).join('  ')}: ${what}`),
  )
  if (judgement.isEnough) return lines.join('')
  const version = command('warning', ['info', 'version'], 'Version', summaryOf(changes, judgement))
  return [...lines, version].join('')
}

// Where a place is written, or as much of it as is there.
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

// https://docs.github.com/actions/reference/workflow-commands-for-github-actions, as the toolkit escapes them.
function inMessage(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function inProperty(value: string | number): string {
  return inMessage(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
