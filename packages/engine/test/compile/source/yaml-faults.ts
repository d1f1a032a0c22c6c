// Slips in YAML: each is reported once, at its place, in the words of authors of contracts.

import t from 'tap'
import { readSource } from '../../../src/compile/source/files.js'

const good = `openapi: 3.1.0
info:
  title: T
  version: 1.0.0
paths:
  /a:
    get:
      operationId: a
      parameters:
        - name: q
          in: query
          schema: { type: string, pattern: '^[0-9]{1,6}$' }
      responses:
        '200':
          description: ok
components:
  schemas:
    A: { type: object }
`

const slips: [title: string, from: string, to: string, place: string, text: string][] = [
  [
    'a missing quotation mark',
    `'^[0-9]`,
    '^[0-9]',
    '12:45',
    '[ is not expected here: a text with brackets, braces or commas must be in quotes',
  ],
  [
    'a missing quotation mark at the end',
    `{1,6}$'`,
    '{1,6}$',
    '12:44',
    `the quotation mark ' that begins here is not closed`,
  ],
  [
    'a double quotation mark that is not closed',
    'title: T',
    'title: "T',
    '3:10',
    'the quotation mark " that begins here is not closed',
  ],
  [
    'more behind a text in quotes',
    'description: ok',
    'description: "ok" then',
    '15:29',
    'the value before this has ended: if this belongs to it, all of it must be in quotes',
  ],
  [
    'a colon in a text',
    'title: T',
    'title: Pets: the API',
    '3:10',
    'a text with a colon and a blank in it must be in quotes',
  ],
  [
    'a line that is too deep',
    '  version:',
    '    version:',
    '4:5',
    'the indentation is wrong: this line is deeper than the one before it, which has a value already',
  ],
  [
    'a field of an item that is too deep',
    '          in:',
    '            in:',
    '11:13',
    'the indentation is wrong: this line is deeper than the one before it, which has a value already',
  ],
  [
    'a line that is not deep enough',
    '      responses:',
    '     responses:',
    '13:6',
    'the indentation is wrong: this line begins in another column than those beside it',
  ],
  [
    'a field of an item that is not deep enough',
    '          in:',
    '         in:',
    '11:10',
    'the indentation is wrong: this line is in a list, and neither begins an item nor belongs to one',
  ],
  ['a tab', '    get:', '\tget:', '7:1', 'the indentation has a tab: use blanks alone'],
  ['no colon', '    get:', '    get', '7:5', 'a colon and a blank must follow the name "get"'],
  [
    'no blank behind a colon',
    'operationId: a',
    'operationId:a',
    '8:7',
    'a colon and a blank must follow the name "operationId:a"',
  ],
  [
    'no colon at the end of a map',
    'description: ok',
    'description: ok\n  more',
    '16:3',
    'a colon and a blank must follow a name; a text that goes on from the line before is indented deeper',
  ],
  ['no blank behind a dash', '- name', '-name', '10:9', 'a blank must follow the - of a list'],
  ['a brace that is not closed', `$' }`, `$'`, '12:19', 'the { that begins here is not closed'],
  [
    'a bracket that is not closed',
    '{ type: object }',
    '{ type: object, required: [a }',
    '18:34',
    'the [ that begins here is not closed',
  ],
  [
    'a $ref without quotes',
    '{ type: object }',
    '{ $ref: #/components/schemas/B }',
    '18:8',
    'the { that begins here is not closed (what follows a blank and # is a comment: it needs quotes)',
  ],
  ['one brace too many', '{ type: object }', '{ type: object }}', '18:24', '} closes nothing that is open'],
  [
    'no comma',
    '{ type: object }',
    '{ type: object required: [a] }',
    '18:16',
    'a comma is missing: within braces and brackets one is between two members',
  ],
  [
    'an escape that is none',
    'title: T',
    String.raw`title: "a\d"`,
    '3:12',
    String.raw`Invalid escape sequence \d: in double quotes a backslash is written twice, in single quotes once`,
  ],
  [
    'a text that begins with @',
    'title: T',
    'title: @T',
    '3:10',
    'a text that begins with @ must be in quotes',
  ],
  [
    'a text that begins with a backtick',
    'title: T',
    'title: `T`',
    '3:10',
    'a text that begins with ` must be in quotes',
  ],
  [
    'two documents',
    'paths:',
    '---\npaths:',
    '5:1',
    'a second document begins here, behind ---: a file of a contract has one',
  ],
]

const whole: typeof slips = [
  [
    'a name twice',
    '  title: T',
    '  title: T\n  title: U',
    '4:3',
    'Map keys must be unique: title is here a second time',
  ],
  [
    'an alias without an anchor',
    '{ type: object }',
    '*b',
    '18:8',
    'no anchor &b is before the alias *b: a text that begins with * is in quotes',
  ],
  [
    'an alias within its anchor',
    '{ type: object }',
    '&a { x-a: *a }',
    '18:18',
    '*a is an alias within its own anchor &a',
  ],
  [
    'a merge of a text',
    '{ type: object }',
    '{ x-a: &a b, <<: *a }',
    '18:21',
    '<< merges names and values into others, as <<: *anchor does, and this is something else',
  ],
  ['a tag of a merge in another place', 'title: T', 'title: !!merge T', '3:18', '!!merge is no type of JSON'],
]

const rest = '; the rest of the file could not be read'

const read = (text: string) => readSource('openapi.yaml', async () => text)

for (const [title, from, to, place, text] of [
  ...slips.map((each) => [...each.slice(0, 4), each[4] + rest]),
  ...whole,
])
  t.test(`${title} is told once, at its place`, async (t) => {
    const written = good.replace(String(from), () => String(to))
    t.not(written, good)
    await t.rejects(read(written), { name: 'ContractError', message: `openapi.yaml:${place}: ${text}` })
    // The same with the line ends of Windows.
    const message = `openapi.yaml:${place}: ${text}`
    await t.rejects(read(written.replaceAll('\n', '\r\n')), { name: 'ContractError', message })
  })

t.test('a byte order mark and line ends of Windows are no slips', async (t) => {
  const { document } = await read(good)
  for (const text of [
    `\ufeff${good}`,
    good.replaceAll('\n', '\r\n'),
    `\ufeff${good.replaceAll('\n', '\r\n')}`,
  ])
    t.strictSame((await read(text)).document, document)
})

const merges: [written: string, schema: object][] = [
  ['<<: *a', { type: 'object', 'x-b': 1 }],
  ['!!merge <<: *a', { type: 'object', 'x-b': 1 }],
  ['!!merge "<<": [*a, *c]', { type: 'object', title: 'C', 'x-b': 1 }],
  ['<<: &d { title: D }', { title: 'D', 'x-b': 1 }],
  ['"<<": *a', { '<<': { type: 'object' }, 'x-b': 1 }],
  ['<<: { title: D }', { '<<': { title: 'D' }, 'x-b': 1 }],
  ['<<: D', { '<<': 'D', 'x-b': 1 }],
]
for (const [written, schema] of merges)
  t.test(`${written} is ${'<<' in schema ? 'a name' : 'a merge'}`, async (t) => {
    const { document } = await read(`openapi: 3.1.0
components:
  schemas:
    A: &a { type: object }
    C: &c { title: C }
    B:
      ${written}
      x-b: 1
`)
    t.strictSame(document, {
      openapi: '3.1.0',
      components: { schemas: { A: { type: 'object' }, C: { title: 'C' }, B: schema } },
    })
  })
