// What recheck found for each pattern, kept by its text in a file beside the generated ones: a verdict is
// that of the machine that wrote it, whatever machine checks, and a pattern is judged once.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** How much longer a pattern takes for a longer text, with an example; null: in proportion to its length. */
export type Judgement = { readonly degree: number | 'exponential'; readonly attack: string } | null

/** By their patterns. A text says why a pattern was not judged. */
export type Judgements = ReadonlyMap<string, Judgement | string>

/** The name of their file in the folder of what is generated. */
export const judgementsFile = 'patterns.json'

interface Kept {
  /** By other rules, patterns are judged again. */
  readonly rules: string
  readonly patterns: Readonly<Record<string, Judgement | string>>
}

/**
 * The judgements that a folder keeps: none without a file, or if they were made by other rules.
 * @param rules by which patterns would be judged now; undefined if none can be
 */
export async function readJudgements(folder: string, rules: string | undefined): Promise<Judgements> {
  const text = await readFile(path.join(folder, judgementsFile), 'utf8').catch(() => '{}')
  const { rules: by, patterns = {} } = parse(text)
  return new Map(rules === undefined || rules === by ? Object.entries(patterns) : [])
}

// A conflict of a merge is no JSON: they are judged again.
function parse(text: string): Partial<Kept> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The text of the file, in the order of the patterns. */
export function judgementsText(judgements: Judgements, rules: string): string {
  const sorted = [...judgements].sort(([a], [b]) => (a < b ? -1 : 1))
  const kept: Kept = { rules, patterns: Object.fromEntries(sorted) }
  return `${JSON.stringify(kept, null, 2)}\n`
}

/** A name for rules: a version of recheck, and what it is told. */
export function rulesName(version: string, told: object): string {
  const hash = createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 8)
  return `recheck ${version}, ${hash}`
}
