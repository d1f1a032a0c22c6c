// Rows that say which input of a statement for many they are the output of. Neither a server nor a driver is
// believed to send them in an order: another caller's row would be a response that looks right.

import { randomInt } from 'node:crypto'
import { checkCount } from '../lib/shared-calls.js'

/** A row with the number of its input. */
export interface Numbered {
  readonly number: number
}

const numbersMax = 2 ** 31 - 1 // PostgreSQL's integer

let next = randomInt(1, numbersMax) // a pooler may mix up the rows of several processes, too

/** The first of so many successive numbers, which no other statement of this process has at the time. */
export function takeNumbers(count: number): number {
  if (next + count > numbersMax) next = 1
  const first = next
  next += count
  return first
}

/**
 * Returns rows that are the outputs of so many inputs, in their order.
 * @param first of the numbers of the inputs
 * @param step to the number of the next input: 0 in a statement that numbers all of them as one
 * @throws {Error} if one is missing, or is that of another input or another statement
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
