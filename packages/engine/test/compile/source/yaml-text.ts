// The YAML of a document reads back equal, whatever its names and texts, in YAML 1.1 and 1.2.

import t from 'tap'
import { parse, stringify } from 'yaml'
import { readContract } from '../../../src/compile/read.js'

const names = [
  ...[
    '<<',
    '=',
    '~',
    '',
    'null',
    'NULL',
    'yes',
    'NO',
    'on',
    'y',
    'True',
    '1_000',
    '0o7',
    '017',
    '0x1F',
    '12:30:45',
  ],
  ...[
    '2024-01-01',
    '.5',
    '1e3',
    'e85',
    '.inf',
    '.NaN',
    '+1',
    '1.',
    '-',
    '- a',
    '?',
    '? a',
    '%a',
    '@a',
    '`a',
    '*a',
  ],
  ...[
    '&a',
    '!a',
    '|',
    '>',
    '#a',
    'a #b',
    'a: b',
    'a:',
    ': a',
    ' ',
    ' a',
    'a ',
    '...',
    '---',
    '[a]',
    '{a}',
    'a, b',
  ],
  ...[
    `'`,
    '"',
    '\\',
    'a\tb',
    '\t',
    'a\t',
    'a\nb',
    '\n',
    'a\r\nb',
    '\r',
    '\0',
    '\x01',
    '\x1b',
    '\x7f',
    '\u0085',
  ],
  ...[
    'a\u00a0',
    '\u00a0a',
    '\u2028',
    'a\u2029b',
    '\ufeff',
    'a\ufeffb',
    '\ufffe',
    '\u{1F600}',
    'x-a',
    '__proto__',
  ],
  ...['a'.repeat(1100), 'word '.repeat(60).trim()],
]

const named = (make: (name: string) => unknown) => Object.fromEntries(names.map((each) => [each, make(each)]))
const schema = {
  type: 'object',
  required: names,
  properties: named((name) => ({
    type: 'string',
    default: name,
    enum: [name],
    description: `${name}\n${name}`,
  })),
}
const examples = named((name) => ({ summary: name, value: { [name]: { [name]: [name] } } }))
const text = names.join('\n')
const document = (own: object) => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1.0.0', description: text },
  tags: names.map((name) => ({ name })),
  paths: {
    '/a': {
      get: {
        operationId: 'a',
        responses: { 200: { description: text, content: { 'application/json': { schema: own, examples } } } },
      },
    },
  },
  'x-names': named((name) => name),
})

// The library's own folding loses blanks.
const unfolded = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER } as const

const written: [way: string, files: Readonly<Record<string, string>>][] = [
  ['of JSON', { 'openapi.yaml': JSON.stringify(document(schema)) }],
  ['of YAML, as it is written', { 'openapi.yaml': stringify(document(schema), unfolded) }],
  [
    'of two files',
    {
      'openapi.yaml': JSON.stringify(document({ $ref: 'b.yaml#/S' })),
      'b.yaml': JSON.stringify({ S: schema }),
    },
  ],
]

for (const [way, files] of written)
  t.test(`the YAML ${way} reads back equal`, async (t) => {
    const readText = async (file: string) => {
      const name = Object.keys(files).find((each) => file.endsWith(each))
      return name === undefined ? Promise.reject(new Error(file)) : String(files[name])
    }
    const contract = await readContract('openapi.yaml', readText)
    t.strictSame(contract.document, document(schema), 'it is read as it was written')
    for (const [form, json] of [
      ['yaml', 'json'],
      ['yaml30', 'json30'],
    ] as const) {
      const yaml = await contract.write(form, 'only')
      const expected = JSON.parse(await contract.write(json, 'only'))
      t.strictSame(parse(yaml), expected, `${form} as YAML 1.2`)
      t.strictSame(parse(yaml, { version: '1.1', merge: true }), expected, `${form} as YAML 1.1`)
      // Some readers merge at a bare <<, and refuse a tab or a control character outside of quotes.
      t.notMatch(yaml, /^\s*(?:- )?<<:/m)
      t.match(yaml, String.raw`"a\tb":`)
      t.notMatch(yaml, /[^\P{Cc}\t\n]|[\u2028\u2029\ufeff]/u)
    }
  })
