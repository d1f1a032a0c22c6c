// Output for people: aligned columns, and colours on a terminal.

import { styleText } from 'node:util'
import { OperatorError } from './operator-error.js'

/** Standard output or standard error, or a stream that replaces it in a test. */
export type Stream = NodeJS.WritableStream &
  Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'hasColors'>>

/**
 * Writes to standard output. A closed pipe, as with `head`, is no error.
 * @throws {OperatorError} if the text cannot be written, as on a full disk
 */
export async function print(text: string, stdout: Stream = process.stdout): Promise<undefined> {
  const ignore = () => {} // the callback of `write` gets the error, too
  stdout.on('error', ignore)
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
    stdout.write(text, resolve)
  })
  if (!error) stdout.off('error', ignore)
  else if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED')
    throw new OperatorError(`Cannot write to standard output: ${error.message}`)
  return undefined
}

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

export type Paint = (style: Style, text: string) => string

/** Returns a function that styles text for a stream, or leaves it plain: a file, a pipe, NO_COLOR. */
export function paintFor(stream: Pick<Stream, 'isTTY' | 'hasColors'>): Paint {
  const isColoured = stream.isTTY && stream.hasColors?.()
  // By default, styleText validates process.stdout, whatever the stream is.
  return (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text)
}

export type Cell = string | { readonly text: string; readonly style: Style }

/**
 * Formats rows below their titles. Columns are as wide as their longest cells; if they do not fit, the widest
 * are truncated.
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
    titles.map((_, column) => Math.max(...all.map((row) => cellText(row[column]).length))),
    width - 2 * (titles.length - 1),
  )
  return all
    .map(
      (row) => `${row.map((cell, column) => format(cell, column, row.length, widths, paint)).join('  ')}\n`,
    )
    .join('')
}

// Shrinks the widest column first, and no column below `cellMin`.
function fitting(widths: readonly number[], total: number): readonly number[] {
  const excess = widths.reduce((sum, each) => sum + each, 0) - total
  const [widest = 0, second = 0] = [...widths].sort((a, b) => b - a)
  if (excess <= 0 || widest <= cellMin) return widths
  const cut = Math.max(widest - excess, Math.min(second, widest - 1), cellMin)
  const at = widths.indexOf(widest)
  return fitting(widths.with(at, cut), total)
}

const cellMin = 8

// The last column is not padded: the spaces would wrap in a narrow terminal.
function format(
  cell: Cell,
  column: number,
  columns: number,
  widths: readonly number[],
  paint: Paint,
): string {
  const width = widths[column] ?? 0
  const whole = cellText(cell)
  const fit = whole.length > width ? `${whole.slice(0, width - 1)}…` : whole
  const text = column === columns - 1 ? fit : fit.padEnd(width)
  return typeof cell === 'string' ? text : paint(cell.style, text)
}

function cellText(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '')
}
