// Output for people: columns that line up, and colours where there is a terminal that shows them.

import { styleText } from 'node:util'
import { OperatorError } from '../operator-error.js'

/**
 * Writes to standard output. A reader who has gone, like `head`, has what it wanted.
 * @throws {OperatorError} where it cannot be written, as on a full disk
 */
export async function print(text: string): Promise<void> {
  const { stdout } = process
  const ignore = () => {} // the error comes by both ways
  stdout.on('error', ignore)
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
    stdout.write(text, resolve)
  })
  if (!error) stdout.off('error', ignore)
  else if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED')
    throw new OperatorError(`Standard output cannot be written: ${error.message}`)
}

/** How a text looks. */
export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

/** Styles a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string

/** The colours of a stream: none in a file or a pipe, nor where NO_COLOR is set. */
export function paintFor(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>): Paint {
  const isColoured = stream.isTTY && stream.hasColors()
  // Of itself it looks at process.stdout, whatever the stream.
  return (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text)
}

/** A cell, and the style it is shown in. */
export type Cell = string | { readonly text: string; readonly style: Style }

/**
 * Rows below their titles, each column as wide as it has to be. Where a line would not fit, its widest cells are cut.
 * @param width of the terminal, in characters
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): string {
  const header = titles.map((text): Cell => ({ text, style: 'bold' }))
  const all = [header, ...rows]
  const widths = fitting(
    titles.map((_, column) => Math.max(...all.map((row) => textOf(row[column]).length))),
    width - 2 * (titles.length - 1),
  )
  return all
    .map((row) => `${row.map((cell, column) => shown(cell, column, row.length, widths, paint)).join('  ')}\n`)
    .join('')
}

// The widest gives way first, and none is left with less than a word.
function fitting(widths: readonly number[], total: number): readonly number[] {
  const excess = widths.reduce((sum, each) => sum + each, 0) - total
  const [widest = 0, second = 0] = [...widths].sort((a, b) => b - a)
  if (excess <= 0 || widest <= cellMin) return widths
  const cut = Math.max(widest - excess, Math.min(second, widest - 1), cellMin)
  const at = widths.indexOf(widest)
  return fitting(widths.with(at, cut), total)
}

const cellMin = 8

// What follows the last column nobody sees, but it would wrap a narrow terminal.
function shown(cell: Cell, column: number, columns: number, widths: readonly number[], paint: Paint): string {
  const width = widths[column] ?? 0
  const whole = textOf(cell)
  const fit = whole.length > width ? `${whole.slice(0, width - 1)}…` : whole
  const text = column === columns - 1 ? fit : fit.padEnd(width)
  return typeof cell === 'string' ? text : paint(cell.style, text)
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '')
}
