// Numbers the rows of a statement for many inputs, so that each row names its input. The service relies on no
// order of the server or the driver: with a wrong order, a caller would get another caller's row.

import { randomInt } from 'node:crypto'
import { checkCount } from '../lib/shared-calls.js'

/** A row with the number of its input. */
export interface Numbered {
  readonly number: number
}

const numbersMax = 2 ** 31 - 1 // PostgreSQL's integer

let next = randomInt(1, numbersMax) // random: a pooler may also mix up the rows of several processes

/**
 * Reserves `count` successive numbers that no other current statement of this process has. Returns the first.
 */
export function takeNumbers(count: number): number {
  if (next + count > numbersMax) next = 1
  const first = next
  next += count
  return first
}

/**
 * Returns the rows after checking that they are the outputs of `count` inputs, in their order.
 * @param first the number of the first input
 * @param step the distance between numbers: 0 in a statement that gives all inputs one number
 * @throws {Error} if a row is missing, or belongs to another input or another statement
 */
export function inOrder<Row extends Numbered>(
  first: number,
  count: number,
  rows: readonly Row[],
  step: 0 | 1 = 1,
): readonly Row[] {
  checkCount(count, rows.length)
  for (let i = 0; i < count; i++) checkNumber(first + i * step, rows[i] as Row)
  return rows
}

function checkNumber(expected: number, { number }: Numbered): void {
  if (number !== expected) throw new Error(`a statement returned the row of input ${number} for ${expected}`)
}
