import t from 'tap'
import type { Content } from '../../../src/document/contract.js'
import { partsMax, readForm } from '../../../src/kinds/form/served.js'
import { growthOf } from '../../fixtures/cpu.js'

const urlencoded = 'application/x-www-form-urlencoded'
const content: Content = {
  mediaType: urlencoded,
  kind: 'form',
  fields: new Map([
    ['list', { kind: 'text', isList: true, mediaTypes: [], types: ['integer'], separator: ',' }],
    ['more', { kind: 'text', isList: true, mediaTypes: [] }],
  ]),
} as unknown as Content // reading a form needs no others

const read = (text: string) => readForm(Buffer.from(text), content).value

const decoded: [text: string, value: object][] = [
  ['a=1&&b=2&', { a: '1', b: '2' }],
  ['a', { a: '' }],
  ['a+b=c+d%2B', { 'a b': 'c d+' }],
  ['a=%C3%a9%f0%9F%98%80', { a: 'é😀' }],
  ['a=100%&b=%4&c=%zz&d=%2', { a: '100%', b: '%4', c: '%zz', d: '%2' }],
  ['list=1,2,x', { list: [1, 2, 'x'] }],
  ['more=a,b&more=c', { more: ['a,b', 'c'] }],
  ['', {}],
]

for (const [text, value] of decoded) {
  t.test(`a form is decoded: ${text}`, async (t) => t.strictSame(read(text), value))
}

t.test('a form has at most as many fields as one of several parts', async (t) => {
  t.equal((read('more=a&'.repeat(partsMax)).more as unknown[]).length, partsMax)
  for (const field of ['more=a&', 'a&', 'a=1&'])
    t.throws(() => read(field.repeat(partsMax + 1)), {
      code: 'invalid_request',
      message: 'The body is not a valid form: it has more than 1000 fields.',
    })
})

const costly: [title: string, text: (bytes: number) => string][] = [
  ['fields without a value', (bytes) => 'a&'.repeat(bytes / 2)],
  ['delimiters', (bytes) => '&'.repeat(bytes)],
  ['a text of escapes', (bytes) => `a=${'%41'.repeat(bytes / 3)}`],
  ['a text of percent signs', (bytes) => `a=${'%'.repeat(bytes)}`],
  ['a name', (bytes) => `${'+'.repeat(bytes)}=1`],
  ['a list of items', (bytes) => `list=1${',1'.repeat(bytes / 2)}`],
  ['a list of separators', (bytes) => `list=${','.repeat(bytes)}`],
]

for (const [title, text] of costly) {
  t.test(`a form takes CPU in proportion to its length: ${title}`, async (t) => {
    const run = (bytes: number) => {
      const body = text(bytes)
      return () => {
        try {
          read(body)
        } catch {} // a form with too many fields
      }
    }
    t.ok(growthOf(run, 262_144) < 8)
  })
}
