// What `npm run dev` says, beside the server's own words: on standard error, for standard output is the server's log.

import { styleText } from 'node:util'

// More would be scrolled over, and the first ones are the ones to mend.
const linesMax = 10

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
  write(shorten(lines).map(indented).join(''))
}

/** `1 error`, `2 errors`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** `a, b, c and 2 more`. */
export function listed(names: readonly string[]): string {
  const first = names.slice(0, 3)
  const rest = names.length - first.length
  return rest > 0 ? `${first.join(', ')} and ${rest} more` : first.join(', ')
}

function write(text: string): void {
  if (!isQuiet) process.stderr.write(text)
}

function shorten(lines: readonly string[]): readonly string[] {
  const rest = lines.length - linesMax
  return rest > 0 ? [...lines.slice(0, linesMax), `and ${rest} more`] : lines
}

function indented(text: string): string {
  const [first = '', ...others] = text.split('\n')
  const colour = /^breaking | error /.test(first) ? 'red' : undefined
  const lines = [colour ? paint(colour, first) : first, ...others.map((line) => `  ${line}`)]
  return lines.map((line) => `  ${line}\n`).join('')
}

// hasColors() is false when NO_COLOR is set.
function paint(style: 'bold' | 'red', text: string): string {
  return process.stderr.isTTY && process.stderr.hasColors() ? styleText(style, text) : text
}
