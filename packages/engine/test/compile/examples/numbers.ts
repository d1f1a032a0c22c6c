// Numbers for schemas, including 64-bit integers and fractions: the first that the contract's own validator
// accepts.

import t from 'tap'
import { fitsNumber, numberBy } from '../../../src/compile/examples/numbers.js'

const int64 = { type: 'integer', format: 'int64' }
const big = 2n ** 53n

const cases: readonly (readonly [parts: readonly object[], first: unknown, second?: unknown])[] = [
  [[int64], 1, 2],
  [[{ ...int64, minimum: big }], big, big + 1n],
  [[{ ...int64, exclusiveMinimum: big + 1n }], big + 2n],
  [[{ ...int64, minimum: 2n ** 63n - 1n }], 2n ** 63n - 1n, 2n ** 63n - 1n],
  [[{ ...int64, exclusiveMinimum: 2n ** 63n - 3n }], 2n ** 63n - 2n, 2n ** 63n - 1n],
  [[{ ...int64, maximum: -(2n ** 63n) }], -(2n ** 63n)],
  [[{ ...int64, exclusiveMaximum: -big }], -big - 1n, -big - 2n],
  [[{ ...int64, minimum: big + 1n, multipleOf: 7 }], 9007199254740995n],
  [[{ ...int64, multipleOf: big + 1n }], big + 1n, 2n * (big + 1n)],
  [[{ ...int64, minimum: big }, { multipleOf: 5 }, { maximum: big + 4n }], 9007199254740995n],
  [[{ type: 'integer', format: 'uint64', minimum: 2n ** 64n - 1n }], 2n ** 64n - 1n],
  [[{ type: 'integer', format: 'int8', multipleOf: 100 }], 100, 0],
  [[{ type: 'integer', multipleOf: 6 }, { multipleOf: 4 }], 12, 24],
  [[{ type: 'integer', multipleOf: 1.5 }], 3],
  [[{ type: 'integer', minimum: 0.5, maximum: 1.5 }], 1],
  [[{ type: 'integer', minimum: 2, maximum: 1 }], undefined],
  [[{ type: 'number', multipleOf: 0.01, exclusiveMaximum: 0.02 }], 0.01, 0],
  [[{ type: 'number', multipleOf: 0.1, minimum: 0.55, maximum: 0.65 }], 0.6],
  [[{ type: 'number', exclusiveMinimum: 0, maximum: 1e-12 }], 1e-12],
  [[{ type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 1.0001 }], 1.00001],
  [[{ type: 'number', minimum: -0.7, maximum: -0.5 }], -0.5],
  [[{ type: 'number', minimum: 1e300 }], 1e300],
]

for (const [parts, first, second] of cases) {
  t.test(`a number by ${parts.map((each) => Object.entries(each).join(' ')).join(' and ')}`, async (t) => {
    const isInteger = parts.some((each) => 'type' in each && each.type === 'integer')
    t.equal(numberBy(parts as never, isInteger, 0), first)
    if (second !== undefined) t.equal(numberBy(parts as never, isInteger, 1), second)
    if (first !== undefined) t.ok(fitsNumber(first as bigint, parts as never))
  })
}

t.test('bounds are compared exactly', async (t) => {
  t.notOk(fitsNumber(big, [{ minimum: big + 1n }]))
  t.ok(fitsNumber(big + 1n, [{ minimum: big + 1n }]))
  t.notOk(fitsNumber(2n ** 63n, [int64]))
  t.notOk(fitsNumber(big + 1n, [{ multipleOf: 2 }]))
})
