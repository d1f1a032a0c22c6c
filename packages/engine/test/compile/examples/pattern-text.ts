import t from 'tap'
import { patternText } from '../../../src/compile/examples/pattern-text.js'

const patterns: readonly (readonly [pattern: string, more?: number])[] = [
  ['^[a-z]{3}$'],
  ['^\\d{4}-\\d{2}$'],
  ['^(?:cat|dog)-[A-F0-9]+$'],
  ['^(?<year>\\d{4})$'],
  ['^[^\\s@]+@[^\\s@]+$'],
  ['^a*b?c+$', 3],
  ['^\\p{Lu}\\p{L}*$', 2],
  ['^\\u0041\\x42\\u{43}$'],
  ['^[\\w.-]{2,5}$', 9],
  ['^(a(b|c){2})+$', 1],
  ['^[)(|]$'],
  ['^\\^\\$\\.$'],
  ['^[\\]a-]{4}$'],
  ['^.{2}\\W\\S$'],
  ['^\\n\\t$'],
  ['^(?=a)a(?!c)b$'],
  ['[0-9]'],
  ['^é+$'],
]

for (const [pattern, more = 0] of patterns) {
  t.test(`a text is written that ${pattern} allows`, async (t) => {
    for (const choose of [() => 0, (ways: number) => ways - 1, (ways: number) => Math.floor(ways / 2)])
      t.match(patternText(pattern, more, choose), new RegExp(pattern, 'u'))
  })
}

t.test('more of what may be repeated makes it longer', async (t) => {
  t.equal(
    patternText('^x+$', 0, () => 0),
    'x',
  )
  t.equal(
    patternText('^x+$', 9, () => 0),
    'xxxxxxxxxx',
  )
  t.equal(
    patternText('^x{2,4}$', 9, () => 0),
    'xxxx',
  )
})
