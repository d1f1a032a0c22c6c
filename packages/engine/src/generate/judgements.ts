// What recheck has found for each pattern, kept by the pattern in a file beside the generated ones. So a
// pattern is judged once, and every machine that checks uses the same verdict.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** How the time of a pattern grows with the length of a text, with an example; null if in proportion. */
export type Judgement = { readonly degree: number | 'exponential'; readonly attack: string } | null

/** By pattern. A text says why the pattern was not judged. */
export type Judgements = ReadonlyMap<string, Judgement | string>

/** The name of the file in the folder of generated files. */
export const judgementsFile = 'patterns.json'

interface Kept {
  /** Patterns are judged again if the rules differ. */
  readonly rules: string
  readonly patterns: Readonly<Record<string, Judgement | string>>
}

/**
 * Returns the judgements that a folder keeps; none if it has no file, or if they were made by other rules.
 * @param rules the rules by which patterns would be judged now; undefined if no pattern can be judged
 */
export async function readJudgements(folder: string, rules: string | undefined): Promise<Judgements> {
  const text = await readFile(path.join(folder, judgementsFile), 'utf8').catch(() => '{}')
  const { rules: by, patterns = {} } = parse(text)
  return new Map(rules === undefined || rules === by ? Object.entries(patterns) : [])
}

// A file with a merge conflict is no JSON: the patterns are judged again.
function parse(text: string): Partial<Kept> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Returns the text of the file, sorted by pattern. */
export function judgementsText(judgements: Judgements, rules: string): string {
  const sorted = [...judgements].sort(([a], [b]) => (a < b ? -1 : 1))
  const kept: Kept = { rules, patterns: Object.fromEntries(sorted) }
  return `${JSON.stringify(kept, null, 2)}\n`
}

/** Returns a name for rules: the version of recheck, and its options. */
export function rulesName(version: string, told: object): string {
  const hash = createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 8)
  return `recheck ${version}, ${hash}`
}
