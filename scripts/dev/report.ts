// What `npm run dev` says, beside the server's own words: on standard error, for standard output is the server's log.

import { paintFor } from '../../src/commands/terminal.js'

// More would be scrolled over, and the first ones are the ones to mend.
const linesMax = 10

const paint = paintFor(process.stderr)
let isQuiet = false

/** From now on nothing is said: what a stop interrupts is no news. */
export function beQuiet(): void {
  isQuiet = true
}

/** What happened, and the lines that belong to it. */
export function say(text: string, lines: readonly string[] = []): void {
  write(`${paint('bold', `dev: ${text}`)}\n`)
  sayMore(lines)
}

/** Lines that belong to what was said last. */
export function sayMore(lines: readonly string[]): void {
  const rest = lines.length - linesMax
  const shown = rest > 0 ? [...lines.slice(0, linesMax), `and ${rest} more`] : lines
  write(shown.map(indented).join(''))
}

/** `1 error`, `2 errors`. */
export function errors({ length }: readonly string[]): string {
  return `${length} error${length === 1 ? '' : 's'}`
}

function write(text: string): void {
  if (!isQuiet) process.stderr.write(text)
}

function indented(text: string): string {
  const [first = '', ...others] = text.split('\n')
  const head = /^breaking | error /.test(first) ? paint('red', first) : first
  return [head, ...others.map((line) => `  ${line}`)].map((line) => `  ${line}\n`).join('')
}
