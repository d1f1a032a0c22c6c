// The kinds of content: the table decides, and no code outside it asks for a content's kind.

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { contractWith, done, startEngine } from 'contract-testing/engine'
import t from 'tap'
import type { Content } from '../../src/document/contract.js'
import { isStream, kindOf, sentType, silentContents } from '../../src/kinds/index.js'
import { packageRoot } from '../fixtures/root.js'

const kinds: readonly (readonly [Content['kind'], mediaType: string, sent: string])[] = [
  ['json', 'application/json', 'application/json; charset=utf-8'],
  ['text', 'text/plain', 'text/plain; charset=utf-8'],
  ['text', 'text/plain; Charset=us-ascii', 'text/plain; Charset=us-ascii'],
  ['csv', 'text/csv', 'text/csv; charset=utf-8; header=present'],
  ['csv', 'text/csv; a="; header=absent"', 'text/csv; a="; header=absent"; charset=utf-8; header=present'],
  ['text', 'text/plain; a="; charset=x"', 'text/plain; a="; charset=x"; charset=utf-8'],
  ['csv', 'text/csv; header=absent', 'text/csv; header=absent; charset=utf-8'],
  ['bytes', 'image/png', 'image/png'],
  ['stream', 'text/event-stream', 'text/event-stream'],
  ['form', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
]

for (const [kind, mediaType, sent] of kinds)
  t.test(`${kind} is sent as ${sent}`, async (t) => t.equal(sentType({ kind, mediaType }), sent))

t.test('only streams are of items, and only what a value is written as stands for another', async (t) => {
  const all = kinds.map(([kind, mediaType]): Content => ({ kind, mediaType, schema: true }))
  t.strictSame(
    all.filter(isStream).map(({ kind }) => kind),
    ['stream'],
  )
  const contents = all.filter(({ mediaType }) =>
    ['application/json', 'text/plain', 'text/csv'].includes(mediaType),
  )
  const response = { status: '200', key: '200', headers: [], contents }
  const silent = silentContents(response, new Map([['200', response]]))
  t.strictSame(
    silent.map(({ kind }) => kind),
    ['json', 'csv'],
  )
})

t.test('text that is not UTF-8 stays bytes, with a fault', async (t) => {
  const content: Content = { kind: 'text', mediaType: 'text/plain' }
  const bytes = Buffer.from([0xff])
  const { value, faults = [] } = kindOf(content).received?.read(bytes, content, 'text/plain') ?? {}
  t.equal(value, bytes)
  t.match(faults, [{ message: 'must be UTF-8 without NUL' }])
})

t.test('a query that is no form is refused as a query', async (t) => {
  const form = { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } }
  const parameters = [{ name: 'v', in: 'querystring', content: form }]
  const contract = await contractWith(
    { values: { method: 'get', parameters, responses: done } },
    { openapi: '3.2.0' },
  )
  const { call } = await startEngine(t, contract, { values: async () => ({ status: 204 }) })
  const { status, body } = await call('GET', `/values?${'a&'.repeat(1_001)}`)
  t.equal(status, 400)
  t.equal(body.message, 'query.v is not a valid form: it has more than 1000 fields')
})

// The fields of a form have kinds, too: text, JSON and files.
const ofFields = ['declared', 'declared-files', 'multipart', 'served'].map((name) => `kinds/form/${name}`)

t.test('who has a content asks its row, and not which kind it is', async (t) => {
  const root = path.join(packageRoot, 'src')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((each) =>
    each.endsWith('.ts'),
  )
  const asks = /\bkind\s*[!=]==\s*'(json|text|csv|form|multipart|bytes|stream|file)'/
  const found = files.filter((each) => asks.test(readFileSync(path.join(root, each), 'utf8')))
  t.strictSame(found.map((each) => each.replace(/\.ts$/, '')).sort(), ofFields)
})
