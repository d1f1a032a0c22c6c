import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-testing/directory'
import t from 'tap'
import { judgementsOf, keptJudgements, slowPatterns } from '../../src/generate/backtracking.js'

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

const documentOf = (...patterns: string[]) => ({
  components: { schemas: Object.fromEntries(patterns.map((pattern) => [pattern, { pattern }])) },
})

t.test('the verdict on a pattern does not depend on how long it takes', (t) => {
  const { now } = performance
  let time = 0
  performance.now = () => {
    time += 3_600_000
    return time
  }
  t.teardown(() => {
    performance.now = now
  })
  const byAutomata = '^([a-z]+)+$'
  const byTexts = '^(?=.*[A-Z])(?=.*\\d)(a+)+$'
  const judgements = judgementsOf(documentOf(byAutomata, byTexts, '^[a-z]+$'))
  for (const slow of [byAutomata, byTexts]) t.match(judgements.get(slow), { degree: 'exponential' })
  t.equal(judgements.get('^[a-z]+$'), null)
  t.end()
})

// Larger than any pattern of a contract, so that recheck takes the maximum number of steps.
const huge = Array.from({ length: 400 }, (_, i) => `[a-${String.fromCharCode(98 + (i % 24))}]*`).join('')

t.test('a pattern that is too large to judge is no safe one', async (t) => {
  const [found] = slowPatterns(documentOf(huge))
  t.match(found, { isJudged: false, isExponential: false })
  t.match(
    found?.text,
    'was not judged (it is too large for recheck): split it, as by an anyOf, or repeat less',
  )
})

t.test('what was found is kept by the text of the pattern, and judged again by other rules', async (t) => {
  const folder = temporaryDirectory(t)
  const document = documentOf('b$', '^(a+)+$', '^a$', '(?i)unread')
  const { judgements, files } = await keptJudgements(document, folder)
  const [[name, text] = ['', '']] = files
  const kept = JSON.parse(text)
  t.equal(name, 'patterns.json')
  t.strictSame(Object.keys(kept.patterns), ['^(a+)+$', '^a$', 'b$'], 'without what JavaScript does not read')
  t.match(kept, { rules: /^recheck \d+\.\d+\.\d+, [\da-f]{8}$/, patterns: { '^a$': null } })
  const write = (value: unknown) =>
    writeFileSync(path.join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
  // A judgement that recheck would not find.
  const other = { degree: 2, attack: "'b'" }
  const patterns = { ...kept.patterns, '^a$': other, gone: null }
  write({ ...kept, patterns })
  const again = await keptJudgements(document, folder)
  t.strictSame(again.judgements.get('^a$'), other)
  t.notOk(again.judgements.has('gone'), 'what the contract has no more is kept no longer')
  for (const none of [{ ...kept, rules: 'recheck 3.0.0, 00000000', patterns }, '<<<<<<< HEAD', {}]) {
    write(none)
    t.strictSame(await keptJudgements(document, folder), { judgements, files })
  }
  t.strictSame((await keptJudgements(documentOf(), folder)).files, [], 'no file without patterns')
  t.equal(readFileSync(path.join(folder, name), 'utf8'), '{}', 'nothing is written')
})
