// contract-diff on webhooks and callbacks: the service sends them, and receivers read them.

import t from 'tap'
import { diffContracts } from '../src/contract.js'
import { lineOf } from '../src/report.js'

const responses = { 204: { description: 'Taken.' } }
const header = (name: string, schema: object, more: object = {}) => ({ in: 'header', name, schema, ...more })
const schema = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } }
const request = {
  parameters: [header('X-A', { type: 'integer', maximum: 5 }, { required: true })],
  requestBody: { required: true, content: { 'application/json': { schema } } },
  responses,
}
const item = { parameters: [header('X-B', { type: 'string' })], post: request }

function documentOf(webhook: object) {
  const callbacks = { told: { '{$request.body#/url}': structuredClone(webhook) } }
  const post = { operationId: 'ask', responses, callbacks }
  const info = { title: 'Shop', version: '1.0.0' }
  return { openapi: '3.1.0', info, webhooks: { sold: webhook }, paths: { '/ask': { post } } }
}

const withBody = (schema: object) => ({
  ...item,
  post: { ...request, requestBody: { required: true, content: { 'application/json': { schema } } } },
})
const withRequest = (more: object) => ({ ...item, post: { ...request, ...more } })

// Edits of the webhook: the change that contract-diff reports, and the one for the opposite edit.
const edits: [title: string, webhook: object, change: string, back: string][] = [
  [
    'a field removed',
    withBody({ type: 'object' }),
    'breaking body.a: removed',
    'minor body.a: added, required',
  ],
  [
    'a field that may be absent',
    withBody({ ...schema, required: [] }),
    'breaking body.a: required -> optional',
    'minor body.a: optional -> required',
  ],
  [
    'a field added',
    withBody({ ...schema, properties: { ...schema.properties, b: {} } }),
    'minor body.b: added',
    'breaking body.b: removed',
  ],
  [
    'a body that may be absent',
    withRequest({ requestBody: { ...request.requestBody, required: false } }),
    'breaking body: required -> optional',
    'minor body: optional -> required',
  ],
  [
    'a header removed',
    withRequest({ parameters: [] }),
    'breaking header.X-A: removed',
    'minor header.X-A: added',
  ],
  [
    'a header with more values',
    withRequest({ parameters: [header('X-A', { type: 'integer', maximum: 9 }, { required: true })] }),
    'breaking header.X-A: maximum 5 -> 9',
    'minor header.X-A: maximum 9 -> 5',
  ],
  [
    'a response that is no longer expected',
    withRequest({ responses: { 200: { description: 'Taken.' } } }),
    'breaking: response 204 removed',
    'breaking: response 200 removed',
  ],
  [
    'another method',
    { parameters: item.parameters, put: request },
    'breaking: POST removed',
    'breaking: PUT removed',
  ],
  [
    'an additional operation',
    { ...item, additionalOperations: { COPY: request } },
    'minor: COPY added',
    'breaking: COPY removed',
  ],
  [
    'a description',
    { ...item, description: 'A sale.' },
    'patch: description A sale. added',
    'patch: description A sale. removed',
  ],
]
for (const [title, webhook, change, back] of edits) {
  t.test(`${title} is reported for who receives it`, async (t) => {
    const [before, after] = [documentOf(item), documentOf(webhook)]
    for (const [expected, lines] of [
      [change, diffContracts(before, after).map(lineOf)],
      [back, diffContracts(after, before).map(lineOf)],
    ] as const) {
      const [bump = '', what = ''] = /^(\w+):? (.*)$/.exec(expected)?.slice(1) ?? []
      const isSame = (line: string, where: string) =>
        line.startsWith(bump) && line.includes(where) && line.endsWith(what)
      t.ok(
        lines.some((line) => isSame(line, ' sold')),
        `of the webhook: ${lines.join('; ')}`,
      )
      t.ok(
        lines.some((line) => /callbacks?\.told/.test(line) && isSame(line, '')),
        `of the callback: ${lines.join('; ')}`,
      )
      const worst = lines.some((line) => line.startsWith('breaking')) ? 'breaking' : bump
      t.equal(worst, bump)
    }
  })
}
