// Prints the findings or results of generate, as text or JSON.

import type { Paint, Style } from 'contract-engine/lib/terminal'
import type { Difference, Written } from './differences.js'

export interface Outcome {
  readonly files: readonly { readonly file: string; readonly state: State }[]
  /** Operations past their sunset, one per line. */
  readonly sunsets: readonly string[]
}

type State = Difference['state'] | Written['state'] | 'proposed'

const words: Record<State, readonly [style: Style, words: string]> = {
  stale: ['red', 'is stale'],
  missing: ['red', 'is missing'],
  orphaned: ['red', 'is orphaned'],
  written: ['green', 'written'],
  added: ['green', 'added: a stub that responds with 501 until you implement it'],
  proposed: ['green', 'added: a proposal, yours from now on'],
  removed: ['dim', 'removed'],
}
const orphanedHandler = 'is orphaned: the contract has no such operation. Remove or rename the file'

export function toText({ files, sunsets }: Outcome, isCheck: boolean, paint: Paint): string {
  if (files.length + sunsets.length === 0) return isCheck ? '' : 'generated/ is up to date\n'
  const lines = files.map(({ file, state }) => {
    const [style, text] = words[state]
    return `${file} ${paint(style, state === 'orphaned' && !isCheck ? orphanedHandler : text)}`
  })
  return [...lines, ...sunsets.map((line) => paint('red', line))].map((line) => `${line}\n`).join('')
}

export function toJson(outcome: Outcome): string {
  return `${JSON.stringify(outcome, null, 2)}\n`
}
