// What was found or done, in words for people and in JSON for scripts.

import type { Paint, Style } from '../../src/commands/terminal.js'
import type { Difference, Written } from './differences.js'

export interface Outcome {
  readonly files: readonly { readonly file: string; readonly state: State }[]
  /** Operations past their time, a line each. */
  readonly sunsets: readonly string[]
}

type State = Difference['state'] | Written['state']

const words: Record<State, readonly [style: Style, words: string]> = {
  stale: ['red', 'is stale'],
  missing: ['red', 'is missing'],
  orphaned: ['red', 'is orphaned'],
  written: ['green', 'written'],
  added: ['green', 'added: a stub that answers 501 until you write it'],
  removed: ['dim', 'removed'],
}
const orphanedHandler = 'is orphaned: its operation is gone from the contract, so remove it or rename it'

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
