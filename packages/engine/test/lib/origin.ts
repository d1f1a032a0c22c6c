import t from 'tap'
import { forwardedScheme, lastOf } from '../../src/lib/origin.js'

const lasts: [values: string | string[] | undefined, expected: string | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['a', 'a'],
  ['a, b ', 'b'],
  [['a', 'b,c'], 'c'],
  ['a,', undefined],
]

for (const [values, expected] of lasts)
  t.test(`the last of ${JSON.stringify(values)} is ${expected}`, async (t) => {
    t.equal(lastOf(values), expected)
  })

const schemes: [value: string | undefined, expected: string | undefined][] = [
  ['https', 'https'],
  ['HTTPS', 'https'],
  ['https, http', 'http'],
  ['wss', undefined],
  [undefined, undefined],
]

for (const [value, expected] of schemes)
  t.test(`a proxy that says ${value} was reached by ${expected}`, async (t) => {
    t.equal(forwardedScheme({ 'x-forwarded-proto': value }), expected)
  })
