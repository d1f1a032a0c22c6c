// The messages of `npm run dev`. They go to standard error, because standard output is the server's log.

import { paintFor } from 'contract-engine/lib/terminal'

// The first errors are the ones to fix; more would scroll them off the screen.
const linesMax = 10

const paint = paintFor(process.stderr)
let isMuted = false

/** Suppresses all further messages, because errors caused by a shutdown are not worth reporting. */
export function mute(): void {
  isMuted = true
}

/** Reports an event, with each detail on its own line. */
export function report(text: string, details: readonly string[] = []): void {
  write(`${paint('bold', `dev: ${text}`)}\n`)
  reportDetails(details)
}

/** Adds details to the last event. */
export function reportDetails(lines: readonly string[]): void {
  const rest = lines.length - linesMax
  const shown = rest > 0 ? [...lines.slice(0, linesMax), `and ${rest} more`] : lines
  write(shown.map(indented).join(''))
}

/** Returns `1 error`, `2 errors`. */
export function countErrors({ length }: readonly string[]): string {
  return `${length} error${length === 1 ? '' : 's'}`
}

function write(text: string): void {
  if (!isMuted) process.stderr.write(text)
}

function indented(text: string): string {
  const [first = '', ...others] = text.split('\n')
  const head = /^breaking | error /.test(first) ? paint('red', first) : first
  return [head, ...others.map((line) => `  ${line}`)].map((line) => `  ${line}\n`).join('')
}
