import t from 'tap'
import { judgementsOf } from '../../src/generate/backtracking.js'
import { isBounded } from '../../src/generate/bounded-pattern.js'

const bounded = [
  '',
  '^$',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  String.raw`\+[0-9]{1,3}\-[0-9()+\-]{1,30}`,
  String.raw`^[A-Z]{2,2}\d{2}[^\]\\]?\$$`,
  String.raw`^[a-zA-Z0-9\-\._,|]{0,40}$`,
  'ä{3}ö',
]

for (const pattern of bounded)
  t.test(`a pattern is judged without an analysis: ${pattern}`, async (t) => {
    t.equal(isBounded(pattern), true)
    t.strictSame([...judgementsOf({ components: { schemas: { A: { pattern } } } })], [[pattern, null]])
  })

const others = [
  ['alternatives', 'a|b'],
  ['a group', '(ab)'],
  ['an unlimited repetition', 'a*'],
  ['an unlimited repetition', '[a-z]+$'],
  ['an unlimited repetition', 'a{2,}'],
  ['any character', '.{3}'],
  ['a lazy repetition', 'a{1,3}?b'],
  ['a boundary', String.raw`\bab`],
  ['a reference back', String.raw`a\1`],
  ['a property', String.raw`\p{L}{2}`],
  ['a control character', String.raw`\x41`],
  ['many ways to match', 'a{0,99}a{0,99}a{0,99}'],
  ['a long match', 'a{10001}'],
  ['an end within', 'a$b'],
] as const

for (const [what, pattern] of others)
  t.test(`a pattern with ${what} is analysed: ${pattern}`, async (t) => {
    t.equal(isBounded(pattern), false)
  })
