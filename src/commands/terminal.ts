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

/** Rows below their titles, each column as wide as it has to be. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): string {
  const header = titles.map((text): Cell => ({ text, style: 'bold' }))
  const all = [header, ...rows]
  const widths = titles.map((_, column) => Math.max(...all.map((row) => textOf(row[column]).length)))
  return all
    .map((row) => `${row.map((cell, column) => shown(cell, column, row.length, widths, paint)).join('  ')}\n`)
    .join('')
}

// What follows the last column nobody sees, but it would wrap a narrow terminal.
function shown(cell: Cell, column: number, columns: number, widths: readonly number[], paint: Paint): string {
  const text = column === columns - 1 ? textOf(cell) : textOf(cell).padEnd(widths[column] ?? 0)
  return typeof cell === 'string' ? text : paint(cell.style, text)
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '')
}
