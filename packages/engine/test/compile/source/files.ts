// Locations of parts of the contract, in YAML and JSON with any layout.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import t from 'tap'
import { readContract } from '../../../src/compile/read.js'
import { withDecisions } from '../../../src/compile/source/decided.js'
import { readSource } from '../../../src/compile/source/files.js'
import { filesOf } from '../../../src/document/file-text.js'

const document = { openapi: '3.1.0', tags: [{ name: 'a' }, { name: 'b' }], paths: { '/toys': { get: {} } } }

const layouts: [title: string, text: string, tag: string, path: string][] = [
  [
    'YAML',
    "openapi: 3.1.0\ntags:\n  - name: a\n  - name: b\npaths:\n  '/toys':\n    get: {}\n",
    ':4:5',
    ':6:3',
  ],
  ['JSON of many lines', JSON.stringify(document, null, 2), ':7:5', ':12:5'],
  ['JSON with CRLF', JSON.stringify(document, null, 2).replaceAll('\n', '\r\n'), ':7:5', ':12:5'],
  ['JSON of one line', JSON.stringify(document), ':1:41', ':1:64'],
  [
    'JSON with brackets in texts, and escapes in names',
    String.raw`{ "a\\": "}\"]", "b": [[], {}, -1.5e3, true], "tags": [ {"name": "\\"} , {"name":"n"}],
  "openapi": "3.1.0", "paths":{"":{}, "\u002ftoys":{"get":{}}} }`,
    ':1:74',
    ':2:39',
  ],
  [
    'YAML in braces',
    "{openapi: 3.1.0,\ntags: [{name: a}, {name: b}],\npaths:\n {'/toys': {get: {}}}}",
    ':2:19',
    ':4:3',
  ],
]

for (const [title, text, tag, toys] of layouts) {
  t.test(`parts are located in ${title}`, async (t) => {
    const file = path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml')
    const { locate } = await readSource(file)
    const shown = path.relative(process.cwd(), file)
    t.equal(locate(['tags', 1]), shown + tag)
    t.equal(locate(['paths', '/toys']), shown + toys)
    t.equal(locate(['paths', '/toys', 'put', 'responses', 200]), shown + toys, 'the parent of a missing part')
    t.equal(locate(['webhooks', 'made']), shown)
  })
}

const unreadable: [title: string, file: string | Buffer, message: string][] = [
  [
    'is not UTF-8',
    Buffer.from('openapi: 3.1.0\ninfo: {title: L\u00efst}\n', 'latin1'),
    ':2:16: the file is not UTF-8',
  ],
  ['is UTF-16', Buffer.from('\ufeffopenapi: 3.1.0\n', 'utf16le'), ':1:1: the file is not UTF-8'],
  [
    'is not UTF-8 behind a replacement character of its own',
    Buffer.concat([Buffer.from('openapi: 3.1.0\ninfo: {title: \ufffd, x: '), Buffer.from([0xff])]),
    ':2:21: the file is not UTF-8',
  ],
  ['holds an infinity', 'openapi: 3.1.0\nx-a: {maximum: .inf}\n', ':2:16: .inf is not a JSON number'],
  ['holds what no double does', 'openapi: 3.1.0\nx-a: [1e400]\n', ':2:7: 1e400 is not a JSON number'],
  [
    'has a default of too many digits',
    'openapi: 3.1.0\nx-a: 0.1234567890123456789\nb: {maximum: 12345678901234.567, default: {c: [12345678901234.567]}}\n',
    ':3:48: default 12345678901234.567 has more digits than a double keeps: it would be 12345678901234.566',
  ],
  [
    'has an enum of too many digits',
    '{"properties": {"enum": {"minimum": 0.12345678901234567891}, "b": {"enum": [1.5, 0.12345678901234567891]}}}',
    ':1:82: enum 0.12345678901234567891 has more digits than a double keeps: it would be 0.12345678901234568',
  ],
  ['holds bytes', 'openapi: 3.1.0\ninfo: {title: !!binary aGk=}\n', ':2:24: !!binary is no type of JSON'],
  ['holds a tag of its own', 'openapi: 3.1.0\nx-a: !mine a\n', ':2:6: Unresolved tag: !mine'],
  [
    'has an empty field',
    'openapi: 3.1.0\ncomponents:\n  schemas:\n',
    ':3:3: components.schemas is null: give it a value, or remove it',
  ],
  [
    'has an empty field and refers to it',
    "openapi: 3.1.0\nx-limits: {$ref: '#/components/a'}\ncomponents:\n",
    ':3:1: components is null: give it a value, or remove it',
  ],
  [
    'has an empty item',
    '{"openapi": "3.1.0",\n"servers": [null]}',
    ':2:13: servers.0 is null: give it a value, or remove it',
  ],
  [
    'holds half a surrogate pair',
    '{"info": {"title": "\\ud83d\\ude00", "summary": "\\ud800"}}',
    ':1:36: info.summary contains half a surrogate pair',
  ],
  [
    'nests without measure',
    `{"x-a": ${'['.repeat(200)}${']'.repeat(200)}}`,
    ':1:109: a value is nested more than 100 levels deep',
  ],
  [
    'nests so deeply that its parser fails',
    `{"x-a": ${'['.repeat(5000)}${']'.repeat(5000)}}`,
    ':1:109: a value is nested more than 100 levels deep',
  ],
  [
    'does so by its indentation',
    `openapi: 3.1.0\n${Array.from({ length: 2000 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')}`,
    ':102:101: a value is nested more than 100 levels deep',
  ],
  [
    'does so in lists',
    `x-a:\n  ${'- '.repeat(5000)}a\n`,
    ':2:203: a value is nested more than 100 levels deep',
  ],
  [
    'does so and ends in the middle',
    `x-a: ${'['.repeat(5000)}`,
    ':1:106: a value is nested more than 100 levels deep',
  ],
  ['refers to its own anchor', 'x-a: &a [[*a]]\n', ':1:11: *a is an alias within its own anchor &a'],
  [
    'holds a conflict of git',
    'openapi: 3.1.0\n<<<<<<< HEAD\npaths: {}\n=======\npaths: { /a: {} }\n>>>>>>> b\n',
    ':2:1: <<<<<<< is a marker of git: a merge has left a conflict here',
  ],
  [
    'holds half of one',
    '{"openapi": "3.1.0",\r\n=======\r\n"paths": {}}',
    ':2:1: ======= is a marker of git: a merge has left a conflict here',
  ],
  ['holds what is no number', 'openapi: 3.1.0\nx-a:\n  b: .nan\n', ':3:6: .nan is not a JSON number'],
]

for (const [title, text, message] of unreadable) {
  t.test(`a file that ${title} is refused at its place`, async (t) => {
    const file = path.join(temporaryDirectory(t, { 'openapi.yaml': '' }), 'openapi.yaml')
    writeFileSync(file, text)
    await t.rejects(readSource(file), { message: path.relative(process.cwd(), file) + message })
  })
}

t.test('a line of a text may look like a marker of git', async (t) => {
  const text =
    'openapi: 3.1.0\ninfo:\n  description: |\n    A\n    =======\n    >>>>>>> b\n  title: "A\n   =======\n    b"\n'
  const file = path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml')
  t.match(await readSource(file), { document: { info: { title: 'A ======= b' } } })
})

t.test('a $ref that leads nowhere is told where it stands, in each file', async (t) => {
  const folder = temporaryDirectory(t, {
    'openapi.yaml': `openapi: 3.1.0
paths: {}
components:
  schemas:
    A: { $ref: 'b.yaml#/No' }
    B: { $ref: 'b.yaml#/Yes' }
    C: { $ref: c.yaml }
    D: { example: { $ref: 'b.yaml#/none' }, properties: { $ref: { type: string } } }
`,
    'b.yaml': "Yes: { properties: { a: { $ref: '#/Neither' } } }\n",
    'c.yaml': 'type: string\n',
  })
  const place = (name: string) => path.relative(process.cwd(), path.join(folder, name))
  await t.rejects(readSource(path.join(folder, 'openapi.yaml')), {
    message: `${place('openapi.yaml:5:5')}: cannot resolve $ref b.yaml#/No
${place('b.yaml:1:22')}: cannot resolve $ref #/Neither`,
  })
})

const several: [title: string, text: string, lines: string[]][] = [
  [
    'what is no number',
    'openapi: 3.1.0\nx-a: {maximum: .inf}\nx-b: [.nan]\n',
    [':2:16: .inf is not a JSON number', ':3:7: .nan is not a JSON number'],
  ],
  [
    'an unknown tag',
    'openapi: 3.1.0\nx-a: !mine {}\nx-b: !mine {}\n',
    [':2:6: Unresolved tag: !mine', ':3:6: Unresolved tag: !mine'],
  ],
  [
    'a name twice',
    'a: 1\na: 2\nb: 1\nb: 2\n',
    [
      ':2:1: Map keys must be unique: a is here a second time',
      ':4:1: Map keys must be unique: b is here a second time',
    ],
  ],
  [
    'null for an object',
    'openapi: 3.1.0\npaths:\ncomponents: { schemas: null, responses: { A: null } }\n',
    [
      ':2:1: paths is null: give it a value, or remove it',
      ':3:15: components.schemas is null: give it a value, or remove it',
      ':3:43: components.responses.A is null: give it a value, or remove it',
    ],
  ],
]

for (const [title, text, lines] of several)
  t.test(`a file that has ${title} in several places is refused with each`, async (t) => {
    const file = path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml')
    const name = path.relative(process.cwd(), file)
    await t.rejects(readSource(file), { message: lines.map((line) => name + line).join('\n') })
  })

t.test('null for an object of another file is refused at its place there', async (t) => {
  const folder = temporaryDirectory(t, {
    'openapi.yaml': 'openapi: 3.1.0\ncomponents: { schemas: { A: { $ref: b.yaml#/b } } }\n',
    'b.yaml': "a: null\nb: { $ref: '#/c' }\nc: { properties: { d: null } }\n",
  })
  const place = path.relative(process.cwd(), path.join(folder, 'b.yaml:3:20'))
  await t.rejects(readSource(path.join(folder, 'openapi.yaml')), {
    message: `${place}: c.properties.d is null: give it a value, or remove it`,
  })
})

t.test('a document of several files reads the same from its text in one', async (t) => {
  const folder = temporaryDirectory(t, {
    'openapi.yaml': `openapi: 3.1.0
x-own: { $ref: nowhere.yaml }
paths: { /toys: { get: { parameters: [{ $ref: 'parts/toy.yaml#/Page' }] } } }
components: { schemas: { Toy: { $ref: 'parts/toy.yaml#/Toy' } } }
`,
    parts: {
      'toy.yaml': `Page: { name: page, in: query, schema: { maximum: 9223372036854775807 } }
Toy: { properties: { box: { $ref: '../openapi.yaml#/components/schemas/Toy' } }, examples: [{ $ref: 'https://a.example' }] }
`,
    },
  })
  const { document, text } = await readSource(path.join(folder, 'openapi.yaml'))
  const copy = await readSource(path.join(folder, 'copy.yaml'), async () => text)
  t.strictSame([copy.document, copy.text], [withDecisions(document).document, text])
})

t.test('problems are located by the text of the document, and no other file is read again', async (t) => {
  const file = path.join(
    temporaryDirectory(t, {
      'openapi.yaml': `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths:
  /toys: { $ref: './toys.yaml' }
`,
      'toys.yaml': 'get: { operationId: listToys, responses: { "200": { description: Toys. } } }\n',
    }),
    'openapi.yaml',
  )
  const read: string[] = []
  const readText = filesOf(file)
  const contract = await readContract(file, (name) => {
    read.push(path.basename(name))
    return readText(name)
  })
  t.strictSame(read.sort(), ['openapi.yaml', 'toys.yaml'])
  read.length = 0
  const problems = [
    ['info', 'title'],
    ['paths', '/toys', 'get'],
  ].map((at) => ({ text: 'A.', at }))
  const shown = path.relative(process.cwd(), file)
  t.strictSame(await contract.locate(problems), [`${shown}:2:9: A.`, `${shown}:4:3: A.`])
  t.strictSame(read, ['openapi.yaml'])
})
