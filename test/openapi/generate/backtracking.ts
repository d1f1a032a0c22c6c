import t from 'tap'
import { slowPatterns } from '../../../src/openapi/generate/backtracking.js'
import {
  installedStore,
  type Judgement,
  type JudgementStore,
} from '../../../src/openapi/generate/judgements.js'

// So that each is judged here.
const none: JudgementStore = { read: () => new Map(), keep: () => {} }

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
    const found = slowPatterns({ components: { schemas: { A: { properties: { b: schema } } } } }, none)
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

t.test('a pattern is judged once, and again by other rules', async (t) => {
  const kept: Map<string, Judgement>[] = []
  const store: JudgementStore = {
    read: () => new Map(kept.at(-1)),
    keep: (all) => void kept.push(new Map(all)),
  }
  const judged = (...patterns: string[]) =>
    slowPatterns(
      { components: { schemas: Object.fromEntries(patterns.map((pattern) => [pattern, { pattern }])) } },
      store,
    )
  const found = judged('^(a+)+$', '^a$')
  t.strictSame(
    kept.map((each) => [...each.keys()]),
    [['^(a+)+$', '^a$']],
  )
  t.strictSame(judged('^(a+)+$', '^a$'), found)
  t.equal(kept.length, 1, 'nothing new is kept')
  kept.push(new Map([['^a$', { degree: 2, attack: "'b'" }]]))
  t.match(judged('^a$'), [
    { isExponential: false, text: /to the power of 2, as in 'b'\. Add a maxLength of at most 3162/ },
  ])
  const rules = { test: 'kept' }
  t.strictSame(installedStore(rules).read(), new Map())
  installedStore(rules).keep(kept.at(-1) ?? new Map())
  t.teardown(() => installedStore(rules).keep(new Map()))
  t.strictSame(installedStore(rules).read(), kept.at(-1))
  t.strictSame(installedStore({ test: 'other' }).read(), new Map())
})
