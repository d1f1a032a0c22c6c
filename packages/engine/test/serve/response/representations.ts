// Accept chooses among the media types of a response: the handler responds by the choice, or the engine
// writes one value as the chosen type.

import { anyError, contractWith, type Handler, startEngine } from 'contract-testing/engine'
import t from 'tap'

const toy = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string' },
    price: { type: ['number', 'null'] },
    isSold: { type: 'boolean' },
  },
}
const toys = { type: 'array', items: { $ref: '#/components/schemas/Toy' } }
const content = (...types: string[]) =>
  Object.fromEntries(types.map((type) => [type, { schema: { $ref: '#/components/schemas/Toys' } }]))

type Route = Record<string, unknown> & { method?: string }

/** Starts operations by their names, with the schemas Toy and Toys. */
async function start(
  t: Parameters<typeof startEngine>[0],
  routes: Readonly<Record<string, Route>>,
  handlers: Readonly<Record<string, Handler>>,
) {
  const operations = Object.entries(routes).map(([name, { responses, ...route }]) => {
    return [name, { method: 'get', ...route, responses: { default: anyError, ...(responses as object) } }]
  })
  const schemas = { Toy: toy, Toys: toys }
  const engine = await startEngine(
    t,
    await contractWith(Object.fromEntries(operations), { schemas }),
    handlers,
  )
  const get = (path: string, accept?: string, method = 'GET', more: Record<string, string> = {}) =>
    engine.call(method, path, { headers: { ...(accept !== undefined && { accept }), ...more } })
  return { ...engine, get }
}

const of = (body: object) => ({ 200: { description: 'All.', content: body } })
const all = [{ id: 9007199254740993n, name: 'Ball', price: 1.5, isSold: false }, { id: 2n }]
const inJson = '[{"id":9007199254740993,"name":"Ball","price":1.5,"isSold":false},{"id":2}]'
const inCsv = 'id,name,price,isSold\r\n9007199254740993,Ball,1.5,false\r\n2,,,\r\n'
const json = 'application/json; charset=utf-8'
const csv = 'text/csv; charset=utf-8; header=present'

t.test('one value is written as the media type that the client prefers', async (t) => {
  const vendor = 'application/vnd.toys+json'
  const { get } = await start(
    t,
    { list: { responses: of(content('application/json', 'text/csv', vendor)) } },
    { list: async () => ({ status: 200, body: all }) },
  )
  const cases: readonly (readonly [accept: string, type: string, text: string])[] = [
    ['*/*', json, inJson],
    ['application/json', json, inJson],
    ['text/csv', csv, inCsv],
    ['text/csv, application/json;q=0.9', csv, inCsv],
    ['application/json;q=0.1, text/*', csv, inCsv],
    [vendor, `${vendor}; charset=utf-8`, inJson],
    // RFC 9110, section 12.5.1: a type that is not acceptable is still sent, unless the contract declares a
    // 406.
    ['text/html', json, inJson],
  ]
  for (const [accept, type, text] of cases) {
    const answer = await get('/list', accept)
    t.match(answer, { status: 200, text }, accept)
    t.equal(answer.headers.get('content-type'), type)
    t.equal(answer.headers.get('vary'), 'Accept')
    const head = await get('/list', accept, 'HEAD')
    t.equal(head.headers.get('content-type'), type)
    t.equal(head.headers.get('content-length'), String(Buffer.byteLength(text)))
  }
})

t.test('the first of the document decides ties, whatever it is', async (t) => {
  const { get } = await start(
    t,
    { list: { responses: of(content('text/csv', 'application/json')) } },
    { list: async () => ({ status: 200, body: all }) },
  )
  for (const accept of ['*/*', 'application/json, text/csv', 'text/html'])
    t.match(await get('/list', accept), { text: inCsv }, accept)
  t.match(await get('/list', 'application/json, */*'), { text: inJson })
})

t.test('a handler may name a type, whatever the client prefers', async (t) => {
  const { get } = await start(
    t,
    { list: { responses: of(content('application/json', 'text/csv')) } },
    { list: async () => ({ status: 200, headers: { 'Content-Type': 'text/csv' }, body: all }) },
  )
  const answer = await get('/list', 'application/json')
  t.equal(answer.text, inCsv)
  t.equal(answer.headers.get('content-type'), csv)
})

t.test('a handler gets the type that the client prefers, and returns by it', async (t) => {
  const types = { 'application/json': { schema: { type: 'integer' } }, 'text/plain': {}, 'image/*': {} }
  const { get } = await start(
    t,
    {
      by: { responses: { ...of(types), 202: { description: 'B.', content: { 'text/html': {} } } } },
      one: { responses: of({ 'application/json': {} }) },
    },
    {
      by: async ({ accept = '' }) => {
        if (accept === 'application/json') return { status: 200, body: 1 }
        if (accept === 'text/html') return { status: 202, body: '<p>' }
        const type = accept === 'image/*' ? 'image/png' : accept
        return { status: 200, headers: { 'Content-Type': type }, body: accept }
      },
      one: async (request) => ({ status: 200, body: 'accept' in request }),
    },
  )
  const cases: readonly (readonly [accept: string, status: number, type: string, text: string])[] = [
    ['*/*', 200, json, '1'],
    ['text/plain', 200, 'text/plain; charset=utf-8', 'text/plain'],
    ['image/*', 200, 'image/png', 'image/*'],
    ['image/webp', 200, 'image/webp', 'image/webp'],
    ['text/html', 202, 'text/html; charset=utf-8', '<p>'],
    ['audio/mp3', 200, json, '1'],
  ]
  for (const [accept, status, type, text] of cases) {
    const answer = await get('/by', accept)
    t.match(answer, { status, text }, accept)
    t.equal(answer.headers.get('content-type'), type)
    t.equal(answer.headers.get('vary'), 'Accept')
  }
  const single = await get('/one', 'text/csv')
  t.match(single, { status: 200, text: 'false' }, 'of one type, it is not told')
  t.equal(single.headers.get('vary'), null)
})

t.test('JSON beside a stream of events: each client gets what its Accept names', async (t) => {
  const Toy = { $ref: '#/components/schemas/Toy' }
  const data = { type: 'string', contentMediaType: 'application/json', contentSchema: Toy }
  const event = { type: 'object', required: ['data'], properties: { data } }
  const types = { ...content('application/json'), 'text/event-stream': { itemSchema: event } }
  const inEvents = 'data: {"id":1}\n\n'
  const { get } = await start(
    t,
    { feed: { responses: { ...of(types), 406: anyError } } },
    {
      feed: async ({ accept = '' }) =>
        accept === 'text/event-stream'
          ? { status: 200, headers: { 'Content-Type': accept }, body: [{ data: { id: 1n } }] }
          : { status: 200, body: [{ id: 1n }] },
    },
  )
  const cases: readonly (readonly [client: string, accept: string, type: string, text: string])[] = [
    ['curl', '*/*', json, '[{"id":1}]'],
    ['an EventSource', 'text/event-stream', 'text/event-stream', inEvents],
    ['a reader of both', 'application/json;q=0.5, text/event-stream', 'text/event-stream', inEvents],
    ['a reader of JSON', 'application/json', json, '[{"id":1}]'],
  ]
  for (const [client, accept, type, text] of cases) {
    const answer = await get('/feed', accept)
    t.match(answer, { status: 200, text }, client)
    t.equal(answer.headers.get('content-type'), type, client)
    t.equal(answer.headers.get('vary'), 'Accept', client)
  }
  t.match(await get('/feed', 'text/html'), { status: 406, body: { code: 'not_acceptable' } })
})

t.test('a text that UTF-8 cannot hold is a 500: it would be sent as another', async (t) => {
  const text = (type: string) => of({ [type]: { schema: { type: 'string' } } })
  const { get, log } = await start(
    t,
    {
      plain: { responses: text('text/plain') },
      bytes: { responses: of({ 'application/octet-stream': {} }) },
      json: { responses: text('application/json') },
      named: { responses: of(content('application/json')) },
    },
    {
      plain: async () => ({ status: 200, body: 'a\ud83d' }),
      bytes: async () => ({ status: 200, body: '\ude00a' }),
      json: async () => ({ status: 200, body: 'a\ud83d' }),
      named: async () => ({ status: 200, body: [{ id: 1n, name: 'a\ud83d' }] }),
    },
  )
  for (const name of ['plain', 'bytes']) {
    t.match(await get(`/${name}`), { status: 500, body: { code: 'internal_error' } })
    const message = `${name} 200: body has a lone surrogate, which UTF-8 cannot hold`
    t.match(log.at(-1), { err: { message } })
  }
  t.equal((await get('/json')).text, '"a\\ud83d"', 'JSON escapes it')
  t.equal((await get('/named')).text, '[{"id":1,"name":"a\\ud83d"}]')
})

t.test('406 where the contract declares it, before the handler runs', async (t) => {
  let calls = 0
  const handler = async () => {
    calls++
    return { status: 200, body: all }
  }
  const types = content('application/json', 'text/csv')
  const body = { required: true, content: { 'application/json': { schema: { type: 'integer' } } } }
  const { get, call } = await start(
    t,
    {
      declared: { responses: { ...of(types), 406: anyError } },
      single: { responses: { ...of(content('text/csv')), 406: anyError } },
      ofClass: { responses: { ...of(types), '4XX': anyError } },
      add: { method: 'post', requestBody: body, responses: { ...of(types), 406: anyError } },
    },
    { declared: handler, single: handler, ofClass: handler, add: handler },
  )
  const message = 'The response is of type application/json or text/csv, which Accept does not allow.'
  const refused = await get('/declared', 'text/html, application/json;q=0')
  t.strictSame(refused.body, { code: 'not_acceptable', message, status: 406 })
  t.equal(refused.headers.get('vary'), 'Accept')
  t.match(await get('/single', 'application/json'), { status: 406, body: { message: /type text\/csv,/ } })
  t.match(
    await call('POST', '/add', { headers: { accept: 'text/html' }, body: '1' }),
    { status: 406 },
    'before the body is read',
  )
  t.equal(calls, 0)

  for (const accept of ['', '*/*', 'text/csv;q=0.1', 'text/*', 'malformed'])
    t.match(await get('/declared', accept), { status: 200 }, accept)
  const single = await get('/single')
  t.match(single, { status: 200, text: inCsv })
  t.equal(single.headers.get('vary'), 'Accept', 'it would have been another for another Accept')
  t.match(await get('/ofClass', 'text/html'), { status: 200 }, 'a class of statuses does not declare it')
})

t.test('only a contract that declares a 406 needs its code', async (t) => {
  const statuses = { not_here: 404 }
  const ErrorCode = { type: 'string', enum: Object.keys(statuses), 'x-enumStatuses': statuses }
  const route = { method: 'get', responses: of(content('text/csv', 'application/json')) }
  const schemas = { Toys: toys, Toy: toy, ErrorCode }
  const refusal = (responses: object) =>
    contractWith({ list: { ...route, responses } }, { schemas }).then(
      () => '',
      (error: Error) => error.message,
    )
  const declared = await refusal({ ...route.responses, 406: { description: 'A.' } })
  t.match(declared, 'ErrorCode: the enum must contain not_acceptable, which the server sends with 406')
  t.notMatch(await refusal(route.responses), 'not_acceptable')
  t.notMatch(await refusal({ 204: { description: 'A.' }, 406: { description: 'A.' } }), 'not_acceptable')
})

t.test('each representation has its own entity tag, and a 304 names what it depends on', async (t) => {
  const vendor = 'application/vnd.toys+json'
  const responses = {
    ...of(content('application/json', vendor, 'text/csv')),
    304: { description: 'The same.' },
  }
  const { get } = await start(t, { list: { responses } }, { list: async () => ({ status: 200, body: [] }) })
  const tags = new Set<string>()
  for (const accept of ['application/json', vendor, 'text/csv']) {
    const etag = (await get('/list', accept)).headers.get('etag') ?? ''
    tags.add(etag)
    const known = await get('/list', accept, 'GET', { 'if-none-match': etag })
    t.match(known, { status: 304, text: '' })
    t.equal(known.headers.get('vary'), 'Accept')
    t.equal(known.headers.get('content-type'), null)
    const other = accept === 'text/csv' ? vendor : 'text/csv'
    t.equal((await get('/list', other, 'GET', { 'if-none-match': etag })).status, 200)
  }
  t.equal(tags.size, 3)
})

t.test('Vary keeps what the handler adds, and may be declared', async (t) => {
  const header = { Vary: { required: true, 'x-set-by-server': true, schema: { type: 'string' } } }
  const types = content('application/json', 'text/csv')
  const routes = {
    own: { responses: { 200: { description: 'A.', headers: { Vary: { schema: {} } }, content: types } } },
    declared: { responses: { 200: { description: 'A.', headers: header, content: types } } },
    failing: { responses: { ...of(types), 404: anyError } },
  }
  const { get } = await start(t, routes, {
    own: async () => ({ status: 200, headers: { Vary: 'Cookie' }, body: [] }),
    declared: async () => ({ status: 200, body: [] }),
    failing: async () => ({ status: 404, body: { code: 'not_here', message: 'A.', status: 404 } }),
  })
  t.equal((await get('/own')).headers.get('vary'), 'Cookie, Accept')
  t.equal((await get('/declared')).headers.get('vary'), 'Accept')
  const failed = await get('/failing', 'text/csv')
  t.match(failed, { status: 404, body: { code: 'not_here' } })
  t.equal(failed.headers.get('vary'), null, 'an error is the same for each Accept')
})

t.test('a value with several schemas is written as the one that is named, or as JSON', async (t) => {
  const types = {
    'text/csv': {
      schema: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } },
    },
    'application/json': { schema: { type: 'object', properties: { count: { type: 'integer' } } } },
  }
  const { get } = await start(
    t,
    { list: { responses: of(types) } },
    {
      list: async ({ accept }) =>
        accept === 'text/csv'
          ? { status: 200, headers: { 'Content-Type': accept }, body: [{ id: 1 }] }
          : { status: 200, body: { count: 1 } },
    },
  )
  t.match(await get('/list'), { text: 'id\r\n1\r\n' })
  t.match(await get('/list', 'application/json'), { text: '{"count":1}' })
})

t.test('errors of several types are as before: the form is that of the contract', async (t) => {
  const error = { schema: { $ref: '#/components/schemas/Error' } }
  const both = {
    description: 'A.',
    content: { 'application/json': error, 'application/problem+json': error },
  }
  const { get } = await start(
    t,
    { list: { responses: { ...of(content('application/json')), 404: both } } },
    { list: async () => ({ status: 404, body: { code: 'not_here', message: 'A.', status: 404 } }) },
  )
  const answer = await get('/list', 'application/problem+json')
  t.match(answer, { status: 404 })
  t.equal(answer.headers.get('content-type'), json)
})
