// The form of an operation's errors, by the content that it declares for them, and the reports at startup.

import {
  type ErrorBodyOf,
  errorHandler,
  mount,
  notFoundHandler,
  notImplemented,
  RequestError,
} from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { errorForms } from '../../../src/serve/response/error-forms.js'

type Content = Readonly<Record<string, object>>

const lost = new RequestError('lost', 'It is lost.', { status: 404 })

/**
 * Returns a document with an operation that fails; its errors have this content, those of others may have
 * theirs.
 */
function documentOf(content: Content | undefined, others: readonly Content[] = []): object {
  const failing = (operationId: string, each: Content | undefined) => ({
    operationId,
    responses: {
      204: { description: 'Done.' },
      default: { description: 'No.', ...(each && { content: each }) },
    },
  })
  const more = others.map((each, i) => [`/other${i}`, { get: failing(`other${i}`, each) }])
  return { paths: { '/toy': { get: failing('getToy', content) }, ...Object.fromEntries(more) } }
}

async function start(
  t: Test,
  document: object,
  errorBody?: ErrorBodyOf,
  handler: object = async () => {
    throw lost
  },
): Promise<FastifyInstance> {
  const contract = await contractOf(document)
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract, { errorBody }))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  const handlers = [...contract.operations.values()].map(({ name }) => {
    return [name, name === 'getToy' ? handler : notImplemented(name)]
  })
  await mount(app, { contract, handlers: Object.fromEntries(handlers), errorBody })
  await app.ready()
  return app
}

const json = (schema: object) => ({ 'application/json': { schema } })
const problem = (schema: object) => ({ 'application/problem+json': { schema } })
const text = { type: 'string' }
const plain = { code: 'lost', message: 'It is lost.', status: 404 }
const details = { type: 'about:blank', title: 'Not Found', status: 404, detail: 'It is lost.' }
const named = (...names: string[]) => ({ properties: Object.fromEntries(names.map((each) => [each, {}])) })
const closed = (...names: string[]) => ({ type: 'object', ...named(...names), additionalProperties: false })

const forms: readonly (readonly [title: string, content: Content, type: string, body: object])[] = [
  ['any JSON', { 'application/json': {} }, 'application/json', plain],
  ['an object of any fields', json({ type: 'object' }), 'application/json', plain],
  ['fields of the plain form', json(closed('code', 'message', 'status')), 'application/json', plain],
  ['one of these', json(named('message', 'help')), 'application/json', plain],
  [
    'another JSON type',
    { 'application/vnd.toys+json': { schema: closed('code', 'message', 'status') } },
    'application/vnd.toys+json',
    plain,
  ],
  [
    'any problem',
    { 'application/problem+json': {} },
    'application/problem+json',
    { ...details, code: 'lost' },
  ],
  ['an open problem', problem(named('title')), 'application/problem+json', { ...details, code: 'lost' }],
  [
    'a closed problem',
    problem(closed('title', 'detail')),
    'application/problem+json',
    { title: 'Not Found', detail: 'It is lost.' },
  ],
  ['a problem as plain JSON', json(closed('type', 'title', 'status', 'detail')), 'application/json', details],
  [
    'a problem of the plain form',
    problem(closed('code', 'message', 'status')),
    'application/problem+json',
    plain,
  ],
  [
    'a problem whose codes are others',
    problem({ properties: { title: text, code: { enum: ['found'] } } }),
    'application/problem+json',
    details,
  ],
  [
    'a problem whose code is a number',
    problem({ properties: { title: text, code: { type: 'integer' } } }),
    'application/problem+json',
    details,
  ],
  [
    'alternatives',
    problem({ anyOf: [closed('title', 'code'), closed('title', 'detail', 'status')] }),
    'application/problem+json',
    { title: 'Not Found', status: 404, detail: 'It is lost.' },
  ],
  [
    'parts of a problem',
    problem({ allOf: [named('title'), named('trace')], unevaluatedProperties: false }),
    'application/problem+json',
    { title: 'Not Found' },
  ],
  [
    'the first of two types',
    { ...problem(named('title')), ...json(named('message')) },
    'application/problem+json',
    { ...details, code: 'lost' },
  ],
  [
    'the first type that it can write',
    { 'text/html': { schema: text }, ...json(closed('error')), ...json(named('message')) },
    'application/json',
    plain,
  ],
]

for (const [title, content, type, body] of forms) {
  t.test(`where errors are ${title}, so is this one`, async (t) => {
    const app = await start(t, documentOf(content))
    const response = await app.inject('/toy')
    t.equal(response.headers['content-type'], `${type}; charset=utf-8`)
    const { instance: _, ...received } = response.json()
    t.strictSame(received, body)
  })
}

const at =
  'getToy 400 (invalid_request): an error of the server has another form, so errorBody must make it: '
const unnamed = 'its schema has neither code nor message, neither title nor detail'
const others: readonly (readonly [title: string, content: Content, reason: string])[] = [
  ['a list', json({ type: 'array' }), 'body at "" must be array'],
  [
    'a field of another name',
    json({ required: ['error'] }),
    `body at "" must have required property 'error'`,
  ],
  ['open, with other names', json(named('error', 'status')), unnamed],
  [
    'of other codes',
    json({ properties: { code: { enum: ['a'] } }, required: ['code'] }),
    'body at "/code" must be equal to one of the allowed values',
  ],
  [
    'a problem with a field of its own',
    problem({ ...named('title'), required: ['trace'] }),
    `body at "" must have required property 'trace'`,
  ],
  [
    'a problem with a field of its own behind one that the engine sets',
    problem({ ...named('type', 'title'), required: ['type', 'title', 'status', 'correlationId'] }),
    `body at "" must have required property 'correlationId'`,
  ],
  [
    'a problem in JSON with a field of its own',
    json({ ...named('type', 'title'), required: ['type', 'correlationId'] }),
    `body at "" must have required property 'correlationId'`,
  ],
  [
    'a code and a message with a field of its own',
    json({ ...named('code', 'message'), required: ['code', 'message', 'correlationId'] }),
    `body at "" must have required property 'correlationId'`,
  ],
  [
    'a problem that must not have a title, and must have a field of its own',
    problem({ ...named('type', 'detail'), required: ['type', 'trace'], additionalProperties: false }),
    `body at "" must have required property 'trace'`,
  ],
  ['text', { 'text/plain': { schema: text } }, 'the body must be text'],
]

for (const [title, content, reason] of others) {
  t.test(`errors of another form (${title}) need a function`, async (t) => {
    const place = ['paths', '/toy', 'get', 'responses', 'default']
    const refused = start(t, documentOf(content))
    await t.rejects(refused, { name: 'ContractError', problems: [{ text: at + reason, at: place }] })
    const stub = await start(t, documentOf(content), undefined, notImplemented('getToy'))
    t.match((await stub.inject('/toy')).json(), { code: 'not_implemented' }, 'not for a stub')
  })
}

t.test('a function makes the body of each error, of a declared type', async (t) => {
  const seen: object[] = []
  const content = json({ type: 'object', required: ['error'], properties: { error: text } })
  const app = await start(t, documentOf(content), (facts) => {
    seen.push(facts)
    return { error: facts.code }
  })
  for (const [url, error] of [
    ['/toy', 'lost'],
    ['/toy?a=b', 'invalid_request'],
    ['/nothing', 'route_not_found'],
  ] as const)
    t.match(await app.inject(url), {
      headers: { 'content-type': /^application\/json/ },
      payload: `{"error":"${error}"}`,
    })
  const violations = [{ in: 'query', pointer: '/a', detail: 'is not a known parameter' }]
  t.match(
    seen.find((each) => (each as { code: string }).code === 'invalid_request' && 'requestId' in each),
    { status: 400 },
  )
  t.match(
    seen.findLast((each) => (each as { code: string }).code === 'invalid_request'),
    { violations, operation: 'getToy' },
  )
  t.match(seen.at(-1), { code: 'route_not_found', operation: undefined })
})

t.test('also text, and an undefined one is left to the engine', async (t) => {
  const content = { 'text/plain': { schema: text }, ...problem(named('title')) }
  const app = await start(t, documentOf(content), ({ code }) => (code === 'lost' ? 'Lost.' : undefined))
  t.match(await app.inject('/toy'), { payload: 'Lost.', headers: { 'content-type': /^text\/plain/ } })
  t.match(await app.inject('/toy?a=b'), { headers: { 'content-type': /^application\/problem\+json/ } })
})

t.test('one that makes others, or fails, is refused at startup', async (t) => {
  const content = json({ required: ['error'] })
  const message = `${at}body at "" must have required property 'error'`
  const wrong = start(t, documentOf(content), () => ({ fault: 1 }))
  await t.rejects(wrong, { message })
  const failing = () => {
    throw new Error('no')
  }
  const text = 'getToy 400 (invalid_request): errorBody failed: no'
  await t.rejects(start(t, documentOf(content), failing), { message: text })
})

t.test('one that fails later leaves the plain form', async (t) => {
  const content = json({})
  const app = await start(t, documentOf(content), ({ code }) => {
    if (code === 'lost') throw new Error('no')
    return { error: code }
  })
  t.strictSame((await app.inject('/toy')).json(), plain)
})

t.test('what no operation declares has the form of most errors of the document', async (t) => {
  const [toy, other] = [json(named('message')), problem(named('title'))]
  const rows: readonly (readonly [others: Content[], type: string])[] = [
    [[other], 'application/json'],
    [[other, other], 'application/problem+json'],
    [[json({ required: ['error'] }), json({ required: ['error'] })], 'application/json'],
  ]
  for (const [others, type] of rows) {
    const app = await start(t, documentOf(toy, others))
    t.equal((await app.inject('/nothing')).headers['content-type'], `${type}; charset=utf-8`)
  }
  const made = await start(
    t,
    documentOf(undefined, [problem(closed('title')), json({ required: ['error'] })]),
  )
  t.strictSame((await made.inject('/nothing')).json(), { title: 'Not Found' }, 'and is valid there')
  const wanting = json({ ...named('message'), required: ['error'] })
  const first = await start(t, documentOf(undefined, [wanting, wanting, other]))
  t.match((await first.inject('/nothing')).json(), { title: 'Not Found' }, 'of those that can be made')
  const undeclared = await start(t, documentOf(undefined, [other]))
  t.equal(
    (await undeclared.inject('/toy')).headers['content-type'],
    'application/problem+json; charset=utf-8',
  )
})

t.test('a contract has its forms once for each function of an application', async (t) => {
  const contract = await contractOf(documentOf(undefined))
  const own = () => undefined
  t.equal(errorForms(contract), errorForms(contract))
  t.equal(errorForms(contract, own), errorForms(contract, own))
  t.not(errorForms(contract, own), errorForms(contract))
  t.not(errorForms(await contractOf(documentOf(undefined))), errorForms(contract))
})
