// What recheck found for each pattern, kept between runs in node_modules/.cache: finding it takes up to 0.6 s
// for a pattern, and for the patterns of a contract more than half of a generation.

import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** How much longer a pattern takes for a longer text, with an example; null: in proportion to its length. */
export type Judgement = { readonly degree: number | 'exponential'; readonly attack: string } | null

/** Keeps judgements, by their patterns. */
export interface JudgementStore {
  read(): Map<string, Judgement>
  keep(judgements: ReadonlyMap<string, Judgement>): void
}

const require = createRequire(import.meta.url)

/**
 * The store of an installation: beside the recheck that is installed.
 * @param rules by which it judges: by others, or by another version of it or of Node's patterns, it judges
 * again
 */
export function installedStore(rules: object): JudgementStore {
  return {
    read: () =>
      orElse(new Map(), () => new Map(Object.entries(JSON.parse(readFileSync(fileOf(rules), 'utf8'))))),
    keep: (judgements) =>
      orElse(undefined, () => replace(fileOf(rules), JSON.stringify(Object.fromEntries(judgements)))),
  }
}

// Without a store, or one that can be written, patterns are judged again.
function orElse<Result>(otherwise: Result, act: () => Result): Result {
  try {
    return act()
  } catch {
    return otherwise
  }
}

// Renamed, so that a run beside this one reads all of it or nothing.
function replace(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  const whole = `${file}.${randomUUID()}`
  writeFileSync(whole, text)
  renameSync(whole, file)
}

function fileOf(rules: object): string {
  const installed = require.resolve('recheck/package.json')
  const { version } = JSON.parse(readFileSync(installed, 'utf8'))
  const all = JSON.stringify([version, process.versions.v8, rules])
  const hash = createHash('sha256').update(all).digest('hex').slice(0, 16)
  return path.join(path.dirname(installed), '../.cache/contract-engine', `patterns-${hash}.json`)
}
