import { send } from 'contract-engine/lib/send'
import { contractOf, contractWith, done, type HandlerRequest, startEngine } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

const statuses = ['available', 'sold']
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1 },
    categoryId: { type: 'integer', format: 'int64' },
    status: { type: 'string', enum: statuses },
  },
}

// An operation with input in every part of the request.
const addToHerd = {
  path: '/herds/{herdId}/pets',
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
  responses: done,
}

// An operation with text in every part of the request.
const addNote = {
  path: '/authors/{author}/notes',
  parameters: [
    { name: 'author', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'tag', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    { name: 'a/b', in: 'query', schema: { type: 'string' } },
  ],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { type: 'object', additionalProperties: { type: 'string' } } } },
  },
  responses: done,
}

async function start(t: Test) {
  const requests: HandlerRequest[] = []
  const keep = async (request: HandlerRequest) => {
    requests.push(request)
    return { status: 204 }
  }
  const contract = await contractWith({ addToHerd, addNote }, { schemas: { NewPet: newPet } })
  return { ...(await startEngine(t, contract, { addToHerd: keep, addNote: keep })), requests }
}

const pet = { name: 'Rex', categoryId: 3 }

t.test('a request with input in every part', async (t) => {
  const { call, requests } = await start(t)
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
      `body.status must be one of: ${statuses.join(', ')} (leave it out instead of null)`,
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
  const { call, requests } = await start(t)
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
  t.equal((await note('%FF', '')).status, 400)
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

t.test('the input of an operation', async (t) => {
  const parameters = [
    { name: 'status', in: 'query', schema: { enum: statuses } },
    { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } },
  ]
  const petId = { name: 'petId', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } }
  const content = { 'application/json': { schema: newPet } }
  const contract = await contractWith({
    listPets: { method: 'get', path: '/pets', parameters, responses: done },
    getPet: { method: 'get', path: '/pets/{petId}', parameters: [petId], responses: done },
    createPet: { path: '/animals', requestBody: { required: true, content }, responses: done },
  })
  const taken: unknown[] = []
  const keep = async (request: HandlerRequest) => {
    taken.push(request.body)
    return { status: 204 }
  }
  const { call, origin } = await startEngine(t, contract, { listPets: keep, getPet: keep, createPet: keep })

  const refused: [method: string, path: string, body: unknown, message: string][] = [
    ['POST', '/animals', {}, 'body.name is required; body.categoryId is required'],
    ['POST', '/animals', '', 'body is required'],
    ['POST', '/animals', '[]', 'body must be an object'],
    ['POST', '/animals', 'null', 'body must be an object'],
    ['POST', '/animals', '"x"', 'body must be an object'],
    ['POST', '/animals', { ...pet, id: 1 }, 'body.id is not a known field'],
    ['POST', '/animals', { ...pet, categoryId: '3' }, 'body.categoryId must be an integer'],
    ['POST', '/animals', { ...pet, categoryId: 1.5 }, 'body.categoryId must be an integer'],
    ['POST', '/animals', { ...pet, categoryId: true }, 'body.categoryId must be an integer'],
    ['POST', '/animals', { ...pet, name: 7 }, 'body.name must be a string'],
    [
      'POST',
      '/animals',
      { ...pet, status: null },
      'body.status must be one of: available, sold (leave it out instead of null)',
    ],
    ['POST', '/animals', { ...pet, status: 'SOLD' }, 'body.status must be one of: available, sold'],
    [
      'POST',
      '/animals',
      '{"name":"Rex","categoryId":3,"__proto__":{}}',
      'body.__proto__ is not a known field',
    ],
    ['POST', '/animals?dry=1', pet, 'query.dry is not a known parameter'],
    ['GET', '/pets?statu=sold', undefined, 'query.statu is not a known parameter'],
    ['GET', '/pets?status=sold&status=sold', undefined, 'query.status must be given once'],
    ['GET', '/pets?status', undefined, 'query.status must be one of: available, sold'],
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
    ['application/json', 204],
    ['application/json; charset=utf-8', 204],
    ['application/json;charset="UTF-8"', 204],
    ['APPLICATION/JSON', 204],
    ['Application/Json; Charset=Utf-8', 204],
    ['application/json; charset=utf8', 204],
    ['application/json;charset="UTF8"', 204],
    ['application/json; version=1', 204],
    ['application/json; charset="utf\\-8"', 204],
    ['application/json; a="; charset=latin1"', 204],
    ['application/json; a="\\"; charset=latin1"; charset=utf-8', 204],
    ['application/json; utf-8', 204],
    ['application/json; charset = latin1', 415],
    ['application/json; charset="lat\\in1"', 415],
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
      const response = await call('POST', '/animals', { headers: { 'content-type': type }, body: pet })
      t.equal(response.status, status)
      if (status === 415) t.equal(response.body.code, 'unsupported_media_type')
    })

    if (status === 204) {
      t.test(`a wrong body of type ${type} is refused like any other`, async (t) => {
        const wrong = { headers: { 'content-type': type }, body: { ...pet, categoryId: 'x' } }
        t.match(await call('POST', '/animals', wrong), { status: 400, body: { code: 'invalid_request' } })
      })
    }
  }

  t.test('a body of another type is refused before it is read', async (t) => {
    const response = await call('POST', '/animals', { headers: { 'content-type': 'text/plain' }, body: '{' })
    t.equal(response.body.message, 'The body must be of type application/json, in UTF-8.')
  })

  const ambiguous = [
    ['charset=utf-8; charset=latin1', 'it has a parameter twice'],
    ['charset=utf-8; Charset="UTF-8"', 'it has a parameter twice'],
    ['version=1; version=1', 'it has a parameter twice'],
    ['a="; charset=latin1', 'it has a quotation mark in the wrong place'],
    ['a=b"c; charset=latin1', 'it has a quotation mark in the wrong place'],
  ]
  for (const [parameters, reason] of ambiguous)
    t.test(`a body is refused whose type other readers may read otherwise: ${parameters}`, async (t) => {
      const headers = { 'content-type': `application/json; ${parameters}` }
      t.strictSame((await call('POST', '/animals', { headers, body: pet })).body, {
        code: 'unsupported_media_type',
        message: `The body must be of type application/json, in UTF-8. Its Content-Type cannot be read: ${reason}.`,
        status: 415,
      })
    })

  t.test('a target with a fragment is refused, which the router would take for a query', async (t) => {
    for (const target of ['/pets#status=sold', '/pets?status=sold#', 'http://a/pets#'])
      t.match(await raw(origin, `GET ${target}`, [], ''), /^HTTP\/1.1 400 .*"malformed_request"/s, target)
  })

  t.test('a body without a type is refused', async (t) => {
    t.match(await raw(origin, 'POST /animals', ['Content-Length: 2'], '{}'), /^HTTP\/1.1 415 /)
    t.match(
      await raw(origin, 'POST /animals', ['Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
      /^HTTP\/1.1 415 /,
    )
  })

  t.test('a body is refused if the operation declares none', async (t) => {
    const type = 'Content-Type: application/json'
    const response = await raw(origin, 'GET /pets', [type, 'Content-Length: 2'], '{}')
    t.match(response, /^HTTP\/1.1 400 .*"body must be absent"/s)
  })

  t.test('a chunked body is accepted', async (t) => {
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const chunks = ['{"name":"Rex",', '"categoryId":3}'].map(
      (each) => `${each.length.toString(16)}\r\n${each}\r\n`,
    )
    t.match(await raw(origin, 'POST /animals', headers, `${chunks.join('')}0\r\n\r\n`), /^HTTP\/1.1 204 /)
  })

  t.test('a chunked body without bytes is no body', async (t) => {
    const chunked = ['Transfer-Encoding: chunked']
    const send = (line: string, text: string, ...headers: string[]) =>
      raw(origin, line, [...chunked, ...headers], text)
    for (const line of ['GET /pets', 'GET /pets/1']) {
      t.match(await send(line, '0\r\n\r\n'), /^HTTP\/1.1 2/, line)
      t.match(await send(line, '1\r\n \r\n0\r\n\r\n'), /^HTTP\/1.1 400 .*"body must be absent"/s, line)
    }
    for (const type of ['text/plain', 'application/json'])
      t.match(
        await send('POST /animals', '0\r\n\r\n', `Content-Type: ${type}`),
        /^HTTP\/1.1 400 .*"body is required"/s,
      )
  })

  for (const coding of ['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip']) {
    t.test(`a body in the coding ${coding} is refused with Accept-Encoding`, async (t) => {
      const response = await call('POST', '/animals', { headers: { 'content-encoding': coding }, body: pet })
      t.match(response, { status: 415, body: { code: 'unsupported_media_type' } })
      t.equal(response.headers.get('accept-encoding'), 'identity')
    })
  }

  t.test('the coding identity is accepted', async (t) => {
    const headers = { 'content-encoding': 'identity' }
    t.equal((await call('POST', '/animals', { headers, body: pet })).status, 204)
  })

  t.test('of many unknown fields 20 are named, each shortened', async (t) => {
    const count = Math.min(500, Math.floor(contract.limits.body / 100))
    const names = Array.from({ length: count }, (_, i) => `x${i}${'x'.repeat(80)}`)
    const body = { ...pet, ...Object.fromEntries(names.map((name) => [name, 1])) }
    const { message } = (await call('POST', '/animals', { body })).body
    t.ok(message.endsWith(`; and ${count - 20} more`))
    t.equal(message.split('; ').length, 21)
    t.ok(message.length < 20 * 100, `${message.length} characters`)
  })

  t.test('of many unknown parameters 20 are named', async (t) => {
    const query = Array.from({ length: 500 }, (_, i) => `x${i}=1`).join('&')
    t.match((await call('GET', `/pets?${query}`)).body.message, /^(query\.x\d+ [^;]+; ){20}and 480 more$/)
  })

  t.match(
    taken,
    taken.map(() => ({ name: 'Rex', categoryId: 3n })),
    'and no other request reached the handler',
  )
})

function raw(origin: string, target: string, headers: string[], body: string): Promise<string> {
  const lines = ['Host: x', 'Connection: close', ...headers]
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
  const contract = await contractOf(parse(text, { intAsBigInt: true }))
  const service = await startEngine(t, contract, {
    echo: async ({ query, body }) => ({ status: 200, body: { ...query, ...body } }),
  })
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
