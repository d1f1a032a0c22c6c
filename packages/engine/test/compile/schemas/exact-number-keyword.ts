// Compares the tests that are inlined into a schema's code with the functions of the rules.

import { stringify } from 'lossless-json'
import t from 'tap'
import { compilable, createAjv } from '../../../src/compile/schemas/ajv.js'
import { createAllows } from '../../../src/runtime/exact-numbers.js'

const safe = Number.MAX_SAFE_INTEGER
const edges = [
  0n,
  1n,
  5n,
  127n,
  128n,
  2n ** 31n - 1n,
  2n ** 31n,
  BigInt(safe),
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
]
const bigints = [...edges, 2n ** 64n - 1n, 2n ** 64n].flatMap((each) => [each, -each])
const numbers = [...bigints.map(Number), 0.5, -0.5, 1.5, 4.5, 1e300, -0, Number.NaN, Number.POSITIVE_INFINITY]
const values = [...bigints, ...numbers, '1', '', true, null, [1], {}]

const formats = [undefined, 'int8', 'uint8', 'int32', 'int64', 'uint64', 'double', 'float', 'other']
const bounds = [undefined, 1, 4.5, -0.5, 2 ** 62]

const combinations = formats.flatMap((format) =>
  bounds.flatMap((minimum) =>
    bounds.flatMap((maximum) => {
      if (minimum !== undefined && maximum !== undefined && minimum > maximum) return []
      const given = Object.entries({ format, minimum, maximum }).filter(([, each]) => each !== undefined)
      return [Object.fromEntries(given)]
    }),
  ),
)

for (const type of ['integer', 'number'])
  for (const mode of ['check', 'json'] as const)
    t.test(`${type}, ${mode}: the code of a schema allows what its rules do`, async (t) => {
      const schemas = combinations.map((each, i) => [`p${i}`, compilable({ type, ...each }, mode)])
      const validate = createAjv(mode).compile({ properties: Object.fromEntries(schemas) })
      for (const [i, each] of combinations.entries()) {
        const allows = createAllows({ types: [type], ...each }, mode)
        const wrong = values.filter((value) => validate({ [`p${i}`]: value }) !== allows(value))
        t.strictSame(wrong.map(String), [], String(stringify({ type, ...each })))
      }
    })
