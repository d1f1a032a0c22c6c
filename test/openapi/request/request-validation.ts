import t, { type Test } from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../../generated/handlers.js'
import type { Context, Handlers } from '../../../src/handlers/handler.js'
import type { Contract } from '../../../src/openapi/contract/contract.js'
import { readContract } from '../../../src/openapi/contract/read.js'
import { prefix, status, statuses } from '../../fixtures/facts.js'
import { contract, type Service, send, sendRaw, startService } from '../../fixtures/service.js'

// An operation with input in every part of the request, added to those of the service.
const addToHerd = {
  operationId: 'addToHerd',
  parameters: [
    { name: 'herdId', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } },
    { name: 'mode', in: 'query', required: true, schema: { type: 'string', enum: ['join', 'lead'] } },
    { name: 'ids', in: 'query', schema: { type: 'array', items: { type: 'integer', format: 'int64' } } },
    { name: 'weight', in: 'query', schema: { type: 'number', default: 0.5 } },
    { name: 'tame', in: 'query', schema: { type: 'boolean' } },
    { name: 'X-Batch', in: 'header', required: true, schema: { type: 'integer', minimum: 1 } },
  ],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPet' } } },
  },
  responses: {
    '204': { description: 'Added.' },
    default: { $ref: '#/components/responses/UnexpectedError' },
  },
}

function widerContract(): Promise<Contract> {
  const document = parseDocument(contract.text)
  document.setIn(['paths', '/herds/{herdId}/pets'], document.createNode({ post: addToHerd }))
  document.setIn(['paths', '/authors/{author}/notes'], document.createNode({ post: addNote }))
  return readContract('openapi.yaml', async () => String(document))
}

interface Request {
  readonly params: object
  readonly query: object
  readonly body: object
}

async function startWider(t: Test) {
  const requests: unknown[] = []
  const wider = {
    ...handlers,
    addToHerd: async (request: unknown) => {
      requests.push(request)
      return { status: 204 }
    },
    addNote: async (request: Request, { sql }: Context) => {
      const texts = [request.params, request.query, request.body].flatMap((part) => Object.entries(part))
      for (const text of texts.flat(2)) await sql`select ${text as string}::text`
      requests.push(request)
      return { status: 204 }
    },
  }
  // The generated types are of another contract.
  const service = await startService(t, {
    contract: await widerContract(),
    handlers: wider as unknown as Handlers,
  })
  return { ...service, requests }
}

// An operation with text in every part of the request, which it sends to the database.
const addNote = {
  operationId: 'addNote',
  parameters: [
    { name: 'author', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'tag', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    { name: 'a/b', in: 'query', schema: { type: 'string' } },
  ],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { type: 'object', additionalProperties: { type: 'string' } } } },
  },
  responses: addToHerd.responses,
}

const pet = { name: 'Rex', categoryId: 3 }

t.test('a request with input in every part', async (t) => {
  const { call, requests } = await startWider(t)
  const herd = (query: string, headers: Record<string, string>, body: unknown, id = '1') =>
    call('POST', `/herds/${id}/pets?${query}`, { headers, body })

  t.test('reaches the handler with typed parameters and defaults', async (t) => {
    const response = await herd(
      'mode=lead&ids=9223372036854775807&ids=-1&tame=true',
      { 'X-Batch': '7' },
      { ...pet, categoryId: 3 },
      '9007199254740993',
    )
    t.equal(response.status, 204)
    t.match(requests.pop(), {
      params: { herdId: 9007199254740993n },
      query: { mode: 'lead', ids: [9223372036854775807n, -1n], weight: 0.5, tame: true },
      headers: { 'x-batch': 7 },
      body: { name: 'Rex', categoryId: 3n },
    })
  })

  t.test('may send a list of one', async (t) => {
    t.equal((await herd('mode=lead&ids=5', { 'X-Batch': '1' }, pet)).status, 204)
    t.match(requests.pop(), { query: { ids: [5n] } })
  })

  t.test('gets all violations in one message', async (t) => {
    const response = await herd(
      'mode=follow&ids=1&ids=x&weight=heavy&tame=perhaps&limt=3',
      { 'X-Batch': '0' },
      '{"name":"","categoryId":"3","status":null,"id":1,"tags":[]}',
      'x',
    )
    t.equal(response.status, 400)
    t.equal(response.body.code, 'invalid_request')
    t.strictSame(response.body.message.split('; ').sort(), [
      'body.categoryId must be an integer',
      'body.id is not a known field',
      'body.name must have at least 1 character',
      `body.status must be one of: ${statuses.join(', ')}`,
      'body.tags is not a known field',
      'header.x-batch must be at least 1',
      'path.herdId must be an integer',
      'query.ids[1] must be an integer',
      'query.limt is not a known parameter',
      'query.mode must be one of: join, lead',
      'query.tame must be a boolean',
      'query.weight must be a number',
    ])
  })

  t.test('gets everything that is missing in one message', async (t) => {
    const response = await herd('', {}, '')
    t.strictSame(response.body, {
      code: 'invalid_request',
      message: 'query.mode is required; header.x-batch is required; body is required',
      status: 400,
    })
  })

  t.test('gets invalid_json if its body is malformed, whatever else is wrong', async (t) => {
    t.match(await herd('', {}, '{'), { status: 400, body: { code: 'invalid_json' } })
  })

  t.equal(requests.length, 0, 'and no other request reached the handler')
})

t.test('text that PostgreSQL cannot store', async (t) => {
  const { call, requests } = await startWider(t)
  const note = (author: string, query: string, body: unknown = { text: 'x' }) =>
    call('POST', `/authors/${author}/notes?${query}`, { body })

  t.test('is refused in the names and values of a body', async (t) => {
    for (const text of ['\\u0000', '\\ud800', '\\udc00\\ud800']) {
      for (const body of [`{"text":"a${text}"}`, `{"a${text}":"x"}`]) {
        t.match(await note('x', '', body), { status: 400, body: { code: 'invalid_json' } }, body)
      }
    }
  })

  const problem = 'must be percent-encoded UTF-8 without NUL'
  const refused: [author: string, query: string, message: string][] = [
    ['a%00b', '', `path.author ${problem}`],
    ['x', 'tag=%00', `query.tag ${problem}`],
    ['x', 'tag=a&tag=%61%00', `query.tag ${problem}`],
    ['x', 'tag=%FF', `query.tag ${problem}`],
    ['x', 'tag=%ED%A0%80', `query.tag ${problem}`],
    ['x', 'tag=%C3', `query.tag ${problem}`],
    ['x', 'tag=100%', `query.tag ${problem}`],
    ['x', 'tag=%zz', `query.tag ${problem}`],
    ['x', 'tag=a=%FF', `query.tag ${problem}`],
    ['x', '%74ag=%FF', `query.tag ${problem}`],
    ['x', 'a%2Fb=%FF', `query["a/b"] ${problem}`],
    ['x', '%FF=1', 'query["%FF"] is not a known parameter'],
    ['x', 'tag%00=1', 'query["tag\\u0000"] is not a known parameter'],
    [
      '%00',
      'tag=%00&x=%FF',
      `path.author ${problem}; query.x is not a known parameter; query.tag ${problem}`,
    ],
  ]
  for (const [author, query, message] of refused) {
    t.test(`is refused in the parameters ${author} and ${query}`, async (t) => {
      t.strictSame((await note(author, query)).body, { code: 'invalid_request', message, status: 400 })
    })
  }
  t.match(await note('%FF', ''), { status: 400, body: { code: 'malformed_request' } })
  t.equal(requests.length, 0, 'and no request reached the handler')

  t.test('is not text that only looks like it', async (t) => {
    const body = '{"\\ud83d\\ude00":"\\\\u0000"}'
    t.equal((await note('%25FF', 'tag=%F0%9F%98%80&tag=%2500+%25&a/b=', body)).status, 204)
    t.match(requests.pop(), {
      params: { author: '%FF' },
      query: { tag: ['😀', '%00 %'], 'a/b': '' },
      body: { '😀': '\\u0000' },
    })
  })
})

t.test('the input of the service', async (t) => {
  const service = await startService(t)
  const { call, sql } = service

  const refused: [method: string, path: string, body: unknown, message: string][] = [
    ['POST', '/pets', {}, 'body.name is required; body.categoryId is required'],
    ['POST', '/pets', '', 'body is required'],
    ['POST', '/pets', '[]', 'body must be an object'],
    ['POST', '/pets', 'null', 'body must be an object'],
    ['POST', '/pets', '"x"', 'body must be an object'],
    ['POST', '/pets', { ...pet, id: 1 }, 'body.id is not a known field'],
    ['POST', '/pets', { ...pet, categoryId: '3' }, 'body.categoryId must be an integer'],
    ['POST', '/pets', { ...pet, categoryId: 1.5 }, 'body.categoryId must be an integer'],
    ['POST', '/pets', { ...pet, categoryId: true }, 'body.categoryId must be an integer'],
    ['POST', '/pets', { ...pet, name: 7 }, 'body.name must be a string'],
    ['POST', '/pets', { ...pet, status: null }, `body.status must be one of: ${statuses.join(', ')}`],
    [
      'POST',
      '/pets',
      { ...pet, status: status.toUpperCase() },
      `body.status must be one of: ${statuses.join(', ')}`,
    ],
    ['POST', '/pets', '{"name":"Rex","categoryId":3,"__proto__":{}}', 'body.__proto__ is not a known field'],
    ['POST', '/pets?dry=1', pet, 'query.dry is not a known parameter'],
    ['GET', `/pets?statu=${status}`, undefined, 'query.statu is not a known parameter'],
    ['GET', `/pets?status=${status}&status=${status}`, undefined, 'query.status must be given once'],
    ['GET', '/pets?status', undefined, `query.status must be one of: ${statuses.join(', ')}`],
    ['GET', '/pets?limit=1&limit=1', undefined, 'query.limit must be given once'],
    ['GET', '/pets?__proto__=1', undefined, 'query.__proto__ is not a known parameter'],
    ['GET', '/pets?limit[]=1', undefined, 'query["limit[]"] is not a known parameter'],
    ['GET', '/pets/1?x=1', undefined, 'query.x is not a known parameter'],
    ['GET', '/pets/x?x=1', undefined, 'path.petId must be an integer; query.x is not a known parameter'],
    ['GET', '/pets/1.0', undefined, 'path.petId must be an integer'],
    ['GET', '/pets/%31%20', undefined, 'path.petId must be an integer'],
  ]
  for (const [method, path, body, message] of refused) {
    const given = body === undefined || body === '' ? '' : ` with ${JSON.stringify(body)}`
    t.test(`${method} ${path}${given} is refused: ${message}`, async (t) => {
      const response = await call(method, path, body === undefined ? {} : { body })
      t.strictSame(response.body, { code: 'invalid_request', message, status: 400 })
    })
  }

  const types: [type: string, status: number][] = [
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['application/json;charset="UTF-8"', 201],
    ['APPLICATION/JSON', 201],
    ['Application/Json; Charset=Utf-8', 201],
    ['application/json; version=1', 201],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json; version=1; charset=utf-16', 415],
    ['application/problem+json', 415],
    ['text/json', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application', 415],
  ]
  for (const [type, status] of types) {
    t.test(`a body of type ${type} gets ${status}`, async (t) => {
      const response = await call('POST', '/pets', { headers: { 'content-type': type }, body: pet })
      t.equal(response.status, status)
      if (status === 415) t.equal(response.body.code, 'unsupported_media_type')
    })

    if (status === 201) {
      t.test(`a wrong body of type ${type} is refused like any other`, async (t) => {
        const wrong = { headers: { 'content-type': type }, body: { ...pet, categoryId: 'x' } }
        t.match(await call('POST', '/pets', wrong), { status: 400, body: { code: 'invalid_request' } })
      })
    }
  }

  t.test('a body of another type is refused before it is read', async (t) => {
    const response = await call('POST', '/pets', { headers: { 'content-type': 'text/plain' }, body: '{' })
    t.equal(response.body.message, 'The body must be of type application/json, in UTF-8.')
  })

  t.test('a body without a type is refused', async (t) => {
    t.match(await raw(service, `POST ${prefix}/pets`, ['Content-Length: 2'], '{}'), /^HTTP\/1.1 415 /)
    t.match(
      await raw(service, `POST ${prefix}/pets`, ['Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
      /^HTTP\/1.1 415 /,
    )
  })

  t.test('a body is refused if the operation declares none', async (t) => {
    const type = 'Content-Type: application/json'
    const response = await raw(service, `GET ${prefix}/pets`, [type, 'Content-Length: 2'], '{}')
    t.match(response, /^HTTP\/1.1 400 .*"body must be absent"/s)
  })

  t.test('a chunked body is accepted', async (t) => {
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const chunks = ['{"name":"Rex",', '"categoryId":3}'].map(
      (each) => `${each.length.toString(16)}\r\n${each}\r\n`,
    )
    t.match(
      await raw(service, `POST ${prefix}/pets`, headers, `${chunks.join('')}0\r\n\r\n`),
      /^HTTP\/1.1 201 /,
    )
  })

  for (const coding of ['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip']) {
    t.test(`a body in the coding ${coding} is refused with Accept-Encoding`, async (t) => {
      const response = await call('POST', '/pets', { headers: { 'content-encoding': coding }, body: pet })
      t.match(response, { status: 415, body: { code: 'unsupported_media_type' } })
      t.equal(response.headers.get('accept-encoding'), 'identity')
      const declared = contract.operations.get('createPet')?.responses.get('415')?.headers ?? []
      t.ok(
        declared.some(({ name }) => name.toLowerCase() === 'accept-encoding'),
        'as the contract says',
      )
    })
  }

  t.test('the coding identity is accepted', async (t) => {
    const headers = { 'content-encoding': 'identity' }
    t.equal((await call('POST', '/pets', { headers, body: pet })).status, 201)
  })

  t.test('of many unknown fields 20 are named, each shortened', async (t) => {
    const count = Math.min(500, Math.floor(contract.limits.body / 100))
    const names = Array.from({ length: count }, (_, i) => `x${i}${'x'.repeat(80)}`)
    const body = { ...pet, ...Object.fromEntries(names.map((name) => [name, 1])) }
    const { message } = (await call('POST', '/pets', { body })).body
    t.ok(message.endsWith(`; and ${count - 20} more`))
    t.equal(message.split('; ').length, 21)
    t.ok(message.length < 20 * 100, `${message.length} characters`)
  })

  t.test('of many unknown parameters 20 are named', async (t) => {
    const query = Array.from({ length: 500 }, (_, i) => `x${i}=1`).join('&')
    t.match((await call('GET', `/pets?${query}`)).body.message, /^(query\.x\d+ [^;]+; ){20}and 480 more$/)
  })

  t.test('refused requests change nothing', async (t) => {
    const rows = await sql`select distinct name, category_id, status from pets`
    t.strictSame(
      [...rows].map((row) => ({ ...row })),
      [{ name: 'Rex', category_id: 3n, status: null }],
    )
  })
})

function raw({ origin, auth }: Service, target: string, headers: string[], body: string): Promise<string> {
  const lines = ['Host: x', `Authorization: ${auth.authorization}`, 'Connection: close', ...headers]
  return sendRaw(origin, `${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

t.test('integer constraints are exact beyond 2^53', async (t) => {
  const int64 = 'type: integer, format: int64'
  const text = `
openapi: 3.1.0
info: {title: Herds, version: 1.0.0}
servers: [{url: /v1}]
paths:
  /herds:
    post:
      operationId: echo
      parameters: [{name: max, in: query, schema: {${int64}, maximum: 9007199254740993, default: 9007199254740993}}]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                one: {${int64}, enum: [9007199254740993, 1]}
                top: {${int64}, default: 9223372036854775807}
                low: {${int64}, const: -9223372036854775807}
                from: {${int64}, exclusiveMinimum: 9007199254740992}
      responses: {'200': {description: What was asked., content: {application/json: {}}}}
`
  const contract = await readContract('herds.yaml', async () => text)
  const echo = async ({ query, body }: Request) => ({ status: 200, body: { ...query, ...body } })
  const service = await startService(t, { contract, handlers: { echo } as unknown as Handlers })
  const add = (query: string, body: string) => service.call('POST', `/herds${query}`, { body })
  t.match(await add('', '{}'), { text: '{"max":9007199254740993,"top":9223372036854775807}' })
  const all = '"one":9007199254740993,"top":-1,"low":-9223372036854775807,"from":9007199254740993'
  t.match(await add('?max=9007199254740993', `{${all}}`), { text: `{"max":9007199254740993,${all}}` })
  const wrong =
    '{"one":9007199254740992,"low":-9223372036854775808,"from":9007199254740992,"top":"9223372036854775807"}'
  t.match((await add('?max=9007199254740994', wrong)).body, {
    message: [
      'query.max must be at most 9007199254740993',
      'body.one must be one of: 9007199254740993, 1',
      'body.top must be an integer',
      'body.low must be -9223372036854775807',
      'body.from must be above 9007199254740992',
    ].join('; '),
  })
  t.match((await send(`${service.origin}/openapi.json`)).text, '"default":9223372036854775807')
})

t.test('errors have the media type that the contract declares', async (t) => {
  const document = parseDocument(contract.text)
  const names = Object.keys(document.toJS().components.responses)
  for (const name of names) {
    const place = ['components', 'responses', name, 'content']
    const json = document.getIn([...place, 'application/json'])
    document.setIn(place, document.createNode({}))
    document.setIn([...place, 'application/problem+json'], json)
  }
  const service = await startService(t, {
    contract: await readContract('pets.yaml', async () => String(document)),
  })
  const typeOf = ({ headers }: { headers: Headers }) => headers.get('content-type')
  const problem = 'application/problem+json; charset=utf-8'
  t.equal(typeOf(await service.call('GET', '/pets?limit=x')), problem)
  t.equal(typeOf(await service.call('GET', '/pets/1')), problem, 'a refusal of a handler')
  t.equal(typeOf(await service.call('GET', '/nothing')), problem)
  t.equal(typeOf(await send(`${service.base}/pets`)), problem)
  t.match(await sendRaw(service.origin, 'nonsense\r\n\r\n'), `Content-Type: ${problem}`)
  t.equal(typeOf(await service.call('GET', '/pets')), 'application/json; charset=utf-8')
})
