import t from 'tap'
import { slowPatterns } from '../../../src/openapi/generate/backtracking.js'

const multiplied = 'backtracks: each further character multiplies its time, as in '
const grown = (degree: number) =>
  `backtracks: its time grows with the length to the power of ${degree}, as in `

const cases: [title: string, schema: object, text: string | undefined][] = [
  [
    'a repetition of repetitions',
    { pattern: '^([a-z]+)+$' },
    `${multiplied}'a' + 'a'.repeat(31) + '\\x00'. Let only`,
  ],
  ['one that maxLength bounds', { pattern: '^([a-z]+)+$', maxLength: 30 }, multiplied],
  ['alternatives that are alike', { pattern: '^(a|a)*$' }, multiplied],
  ['an end that any start may reach', { pattern: '\\d+$' }, grown(2)],
  ['one with a maxLength', { pattern: '\\d+$', maxLength: 3162 }, undefined],
  [
    'one with a maxLength that is too long',
    { pattern: '\\d+$', maxLength: 3163 },
    `${grown(2)}'0'.repeat(54773) + '\\x000'. Add a maxLength of at most 3162`,
  ],
  ['three repetitions', { pattern: '^\\s*(.*?)\\s*$' }, grown(3)],
  ['a reference back', { pattern: '^(.*)\\1$' }, grown(2)],
  ['an escape that only JavaScript without u reads', { pattern: '^(\\-+)+$' }, multiplied],
  ['one after a look ahead', { pattern: '^(?=.*[A-Z])(?=.*\\d)(a+)+$' }, multiplied],
  ['a look ahead', { pattern: '^(?=.*[A-Z])(?=.*\\d).{8,}$' }, undefined],
  ['a linear one', { pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' }, undefined],
  ['one that is none', { pattern: '(?i)abc' }, undefined],
]

for (const [title, schema, text] of cases) {
  t.test(`a pattern is judged: ${title}`, async (t) => {
    const found = slowPatterns({ components: { schemas: { A: { properties: { b: schema } } } } })
    const { pattern } = schema as { readonly pattern: string }
    t.match(found[0]?.text, text && `the pattern ${pattern} ${text}`)
    t.equal(found[0]?.isExponential, text?.startsWith(multiplied))
    if (text !== undefined)
      t.strictSame(found[0]?.at, ['components', 'schemas', 'A', 'properties', 'b', 'pattern'])
  })
}

t.test('patterns are found wherever schemas are', async (t) => {
  const slow = { pattern: '^(a+)+$' }
  const operation = {
    parameters: [{ name: 'a', in: 'query', schema: slow }],
    requestBody: {
      content: { 'application/json': { schema: { allOf: [{ $ref: '#/components/schemas/A' }] } } },
    },
    responses: { 200: { headers: { 'X-A': { schema: slow } } } },
  }
  const A = { patternProperties: { '^(b+)+$': {} }, propertyNames: slow, example: slow }
  const found = slowPatterns({ paths: { '/': { get: operation } }, components: { schemas: { A } } })
  t.strictSame(
    new Set(found.map(({ at }) => at.join(' '))),
    new Set([
      'paths / get parameters 0 schema pattern',
      'paths / get responses 200 headers X-A schema pattern',
      'components schemas A patternProperties ^(b+)+$',
      'components schemas A propertyNames pattern',
    ]),
  )
})
