// No format overflows the stack, or takes more than linear time, however long the text.

import { isNightly } from 'contract-testing/nightly'
import t from 'tap'
import { formats } from '../../src/runtime/formats.js'

// The longest valid text of each format, for formats without a maximum length.
const repeated: Readonly<Record<string, readonly [start: string, piece: string, end: string]>> = {
  uri: ['http://a/', 'b/%41', ''],
  url: ['http://', 'a', '@b'],
  'uri-reference': ['', '/a', ''],
  'uri-template': ['', '{a}', ''],
  'json-pointer': ['', '/~0', ''],
  'relative-json-pointer': ['1', '/a', ''],
  byte: ['', 'AAAA', ''],
  base64url: ['', 'AAAA', ''],
  email: ['', 'a', '@example.org'],
}
const megabytes = isNightly ? [1, 10, 50] : [1, 5]

for (const [name, { validate }] of Object.entries(formats)) {
  t.test(`${name} judges a text of ${megabytes} MB`, async (t) => {
    const [start, piece, end] = repeated[name] ?? ['', 'a', '']
    const judge = (text: string) => (validate instanceof RegExp ? validate.test(text) : validate(text))
    for (const size of megabytes) {
      const long = piece.repeat((size * 1e6) / piece.length)
      t.equal(judge(start + long + end), name in repeated, `${size} MB`)
      t.notOk(judge(`${start + long + end}~ "`), `${size} MB, wrong at its end`)
    }
    for (const other of ['.', 'a.', '{a,', '~', ':']) t.notOk(judge(`" ~${other.repeat(1e6)}`))
  })
}
