// Compares the keywords for texts with a count of each text's characters.

import t from 'tap'
import { compilable, createAjv } from '../../../src/compile/schemas/ajv.js'

const texts = [
  '',
  'a',
  'ab',
  'abc',
  '😀',
  '😀😀',
  'a😀',
  'é'.repeat(4),
  '\ud800',
  '\ud800a',
  '\0',
  'a\0b',
  '\n',
]

for (const bound of [0, 1, 2, 3])
  t.test(`a bound of ${bound} counts characters, and not the units of UTF-16`, async (t) => {
    const ajv = createAjv('check')
    const [most, least] = ['maxLength', 'minLength'].map((name) => ajv.compile(compilable({ [name]: bound })))
    for (const text of texts) {
      const { length } = [...text]
      t.equal(most?.(text), length <= bound, `${JSON.stringify(text)}, at most`)
      t.equal(least?.(text), length >= bound, `${JSON.stringify(text)}, at least`)
    }
  })

t.test('a pattern of texts without NUL allows all others', async (t) => {
  for (const pattern of ['^[^\\x00]*$', '^[^\\u0000]*$']) {
    const validate = createAjv('check').compile(compilable({ pattern }))
    for (const text of texts) t.equal(validate(text), !text.includes('\0'), JSON.stringify(text))
  }
})
