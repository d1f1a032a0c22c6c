import t from 'tap'
import { inOrder, takeNumbers } from '../../src/database/numbered.js'

const rowsOf = (...numbers: number[]) => numbers.map((number) => ({ number }))

t.test('no two statements have the same numbers', async (t) => {
  const first = takeNumbers(3)
  t.ok(takeNumbers(1) >= first + 3)
})

t.test('rows with the numbers of their inputs are returned', async (t) => {
  t.strictSame(inOrder(7, 3, rowsOf(7, 8, 9)), rowsOf(7, 8, 9))
  t.strictSame(inOrder(7, 0, []), [])
  t.strictSame(inOrder(7, 2, rowsOf(7, 7), 0), rowsOf(7, 7))
})

for (const [title, numbers] of [
  ['fewer rows', [7, 8]],
  ['more rows', [7, 8, 9, 10]],
  ['rows in another order', [7, 9, 8]],
  ['a row twice', [7, 8, 8]],
  ['the rows of another statement', [10, 11, 12]],
] as const)
  t.test(`${title} are an error`, async (t) => {
    t.throws(() => inOrder(7, 3, rowsOf(...numbers)), { message: /inputs have|the row of input/ })
    t.throws(() => inOrder(7, 3, rowsOf(...numbers), 0), { message: /inputs have|the row of input/ })
  })

t.test('a hole among the rows is an error', async (t) => {
  const shifted = Array(1).concat(rowsOf(7, 8))
  t.throws(() => inOrder(7, 3, shifted))
})
