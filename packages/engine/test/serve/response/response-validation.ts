// Responses that cases.yaml cannot express: bytes, and errors that a handler throws.

import { type Operation, RequestError } from 'contract-engine'
import { anyError, contractWith, startEngine } from 'contract-testing/engine'
import t from 'tap'
import { createResponseChecks } from '../../../src/serve/response/response-validation.js'

t.test('responses', async (t) => {
  const json = (schema: object) => ({ description: 'It.', content: { 'application/json': { schema } } })
  const of = (content: object) => ({ 200: { description: 'It.', content } })
  const id = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }
  const wait = { description: 'No.', headers: { 'X-Wait': { schema: { type: 'integer' } } } }
  const declared: Record<string, object> = {
    object: { 200: json(id) },
    onlyDefault: { default: json(id) },
    image: of({ 'image/*': { schema: { type: 'string', format: 'binary', maxLength: 3 } } }),
    text: of({ 'text/csv': { schema: { type: 'string' } } }),
    waiting: { 200: json(id), 404: { ...anyError, ...wait } },
  }
  let respond = (): unknown => undefined
  const operations = Object.entries(declared).map(([name, responses]) => [name, { responses }] as const)
  const { call, log } = await startEngine(
    t,
    await contractWith(Object.fromEntries(operations)),
    Object.fromEntries(operations.map(([name]) => [name, async () => respond()])),
  )
  const ask = (name: string, response: () => unknown) => {
    respond = response
    log.length = 0
    return call('POST', `/${name}`)
  }
  const thrown = (headers?: Record<string, string>) => () => {
    throw new RequestError<string>('not_here', 'No.', headers && { headers })
  }
  const bytes = (text: string, type?: string) => () => ({
    status: 200,
    body: Buffer.from(text),
    ...(type && { headers: { 'Content-Type': type } }),
  })

  t.test('bytes are sent as they are', async (t) => {
    const { headers, text } = await ask('image', bytes('abc', 'image/png'))
    t.strictSame([headers.get('content-type'), text], ['image/png', 'abc'])
  })

  t.test('a header beyond ASCII is sent in ISO 8859-1 next to a body in UTF-8', async (t) => {
    const headers = { 'X-Note': 'Grüße' }
    const returned = await ask('object', () => ({ status: 200, headers, body: { id: 1, name: 'é' } }))
    t.strictSame([returned.headers.get('x-note'), returned.text], ['Grüße', '{"id":1,"name":"é"}'])
    for (const name of ['waiting', 'object']) {
      const refused = await ask(name, thrown({ ...headers, 'X-Wait': '1' })) // one is declared, one is not
      t.strictSame([refused.headers.get('x-note'), refused.status], ['Grüße', 404], name)
    }
  })

  const wrong: [name: string, response: () => unknown, problem: string][] = [
    ['image', bytes('abcd', 'image/png'), 'image 200: body at "" must have at most 3 bytes'],
    ['text', bytes('1'), 'text 200: the body must be text'],
    ['object', bytes('{}'), 'object 200: body at "" must have required property \'id\''],
    ['waiting', thrown({ 'X-Wait': 'many' }), 'waiting 404: header X-Wait must be an integer'],
  ]
  for (const [name, response, problem] of wrong) {
    t.test(`an invalid one is a 500 without details: ${problem}`, async (t) => {
      const { status, body, headers } = await ask(name, response)
      t.strictSame(body, { code: 'internal_error', message: 'Internal Server Error', status: 500 })
      t.strictSame([status, headers.get('x-wait')], [500, null])
      t.match(headers.get('content-type'), /^application\/json/)
      t.match(log, [{ level: 50, err: { type: 'ResponseError', message: problem } }])
    })
  }

  t.test('an error that the operation does not declare is sent all the same, and logged', async (t) => {
    for (const name of ['object', 'onlyDefault', 'image']) {
      const refused = await ask(name, thrown())
      t.strictSame(refused.body, { code: 'not_here', message: 'No.', status: 404 }, name)
      t.equal(refused.status, 404)
      t.match(log, [{ level: 40, reason: '404 not_here' }])
    }
  })
})

t.test('a header that the server adds was judged before it listened', async (t) => {
  const headers = Object.fromEntries(
    ['A', 'B', 'C'].map((name) => [name, { required: true, schema: { type: 'integer' } }]),
  )
  const responses = { 200: { description: 'It.', headers }, default: { description: 'It.', headers } }
  const contract = await contractWith({ any: { responses } })
  const { id, responses: declared } = contract.operations.get('any') as Operation
  const head = createResponseChecks(contract.functions())({ id, responses: declared }, true).headBeside({
    alwaysIn: () => ['a'],
    sometimes: new Set(['b']),
  })
  const cases: [title: string, status: number, own: object, added: object, problem?: RegExp][] = [
    ['it is not judged again', 200, { c: '1' }, { a: 'x', b: 'y' }],
    [
      'but the own one of a response in its place is',
      200,
      { a: 'x', c: '1' },
      { a: '1', b: '1' },
      /header A/,
    ],
    ['one that is always there is not looked for', 200, { c: '1' }, { b: 'y' }],
    ['one that is sometimes there may be missing', 200, { c: '1' }, { a: '1' }, /header B is missing/],
    ['one that nobody proved is judged', 200, {}, { a: '1', b: '1', c: 'z' }, /header C/],
    ['so is each of a range of statuses', 404, { c: '1' }, { a: 'x', b: '1' }, /header A/],
  ]
  for (const [title, status, own, added, problem] of cases) {
    const judge = () => head(status, { ...own }, (name) => (added as Record<string, unknown>)[name])
    if (problem === undefined) t.doesNotThrow(judge, title)
    else t.throws(judge, { message: problem }, title)
  }
})
