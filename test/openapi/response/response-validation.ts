import t from 'tap'
import { handlers } from '../../../generated/handlers.js'
import type { Handlers } from '../../../src/handlers/handler.js'
import { ApiError } from '../../../src/handlers/handler.js'
import type { Operation } from '../../../src/openapi/contract/contract.js'
import { toOpenApi31 } from '../../../src/openapi/contract/upgrade.js'
import { createResponseChecks, ResponseError } from '../../../src/openapi/response/response-validation.js'
import { contract, type Service, startService } from '../../fixtures/service.js'

const rex = { id: 1n, name: 'Rex', categoryId: 3n }

// What the handler responds, and the start of the logged message. `default` declares every other status, as an error.
const broken: [title: string, response: unknown, log: string][] = [
  ['a status that is not declared', { status: 202, body: rex }, 'getPet 202: body at ""'],
  ['the status of another operation', { status: 201, body: rex }, 'getPet 201: body at ""'],
  [
    'a required header that is missing',
    { status: 201, body: rex },
    'createPet 201: header Location is missing',
  ],
  [
    'a header that is wrong',
    { status: 200, headers: { Link: 'next' }, body: [] },
    'listPets 200: header Link must match pattern',
  ],
  ['a body of the wrong type', { status: 200, body: rex }, 'listPets 200: body at "" must be array'],
  ['a body that is text', { status: 200, body: 'Rex' }, 'getPet 200: body at "" must be object'],
  ['a body that is bytes', { status: 200, body: Buffer.from('{}') }, 'getPet 200: body at ""'],
  ['a body that is a number', { status: 200, body: 7 }, 'getPet 200: body at "" must be object'],
  ['a body that is null', { status: 200, body: null }, 'getPet 200: body at "" must be object'],
  ['no body where one is declared', { status: 200 }, 'getPet 200: body at "" must be object'],
  [
    'a field that is missing',
    { status: 200, body: { id: 1n, name: 'Rex' } },
    'getPet 200: body at "" must have required property \'categoryId\'',
  ],
  [
    'a field of the wrong type',
    { status: 200, body: { ...rex, name: 7 } },
    'getPet 200: body at "/name" must be string',
  ],
  [
    'an integer that has a fraction',
    { status: 200, body: { ...rex, categoryId: 1.5 } },
    'getPet 200: body at "/categoryId" must be an integer',
  ],
  [
    'an integer out of range',
    { status: 200, body: { ...rex, id: 2n ** 63n } },
    'getPet 200: body at "/id" must be an integer from',
  ],
  [
    'a value that is not of the enum',
    { status: 200, body: [rex, { ...rex, status: 'no-such' }] },
    'listPets 200: body at "/1/status" must be equal to one of the allowed values',
  ],
  [
    'null where a field should be absent',
    { status: 200, body: [{ ...rex, status: null }] },
    'listPets 200: body at "/0/status" must be string',
  ],
  [
    'a header that HTTP cannot carry',
    { status: 200, headers: { Link: '</a>; rel="next"\r\nX-A: b' }, body: [] },
    'listPets 200: header Link has characters that HTTP does not allow',
  ],
  [
    'an error of the wrong form',
    { status: 404, body: { error: 'secret' } },
    'getPet 404: body at "" must have required property \'code\'',
  ],
]

const calls: Record<'listPets' | 'createPet' | 'getPet', Parameters<Service['call']>> = {
  listPets: ['GET', '/pets'],
  createPet: ['POST', '/pets', { body: { name: 'Rex', categoryId: 3 } }],
  getPet: ['GET', '/pets/1'],
}

t.test('a handler that breaks the contract', async (t) => {
  let response: unknown
  let refusal: ApiError | undefined
  const respond = async () => {
    if (refusal) throw refusal
    return response
  }
  // The compiler would not accept these.
  const responses = { listPets: respond, createPet: respond, getPet: respond }
  const careless = { ...handlers, ...responses } as unknown as Handlers
  const { call, log } = await startService(t, { handlers: careless })

  for (const [title, given, expected] of broken) {
    const [id] = expected.split(' ') as [keyof typeof calls]
    t.test(`with ${title} responds 500 without details, and logs the place`, async (t) => {
      response = given
      log.length = 0
      const received = await call(...calls[id])
      t.strictSame(received.body, { code: 'internal_error', message: 'Internal Server Error', status: 500 })
      t.equal(received.status, 500)
      t.match(received.headers.get('content-type'), /^application\/json/)
      for (const [name, value] of Object.entries(Object(given).headers ?? {}))
        t.not(received.headers.get(name), value, `without ${name}`)
      const faults = log.filter(({ level }) => Number(level) >= 50)
      t.equal(faults.length, 1)
      t.match(faults[0], {
        err: { type: 'ResponseError' },
        requestId: received.headers.get('x-request-id'),
      })
      t.ok(String(Object(faults[0]?.err).message).startsWith(expected), expected)
    })
  }

  t.test('serves the next request, whose response is valid', async (t) => {
    response = { status: 200, body: rex }
    t.match(await call('GET', '/pets/1'), { status: 200, text: '{"id":1,"name":"Rex","categoryId":3}' })
  })

  t.test('with an error whose headers are invalid responds 500', async (t) => {
    log.length = 0
    refusal = new ApiError('pet_not_found', 'No.', { headers: { 'X-RateLimit-Limit': 'many' } })
    const received = await call('GET', '/pets/1')
    refusal = undefined
    t.strictSame(received.body, { code: 'internal_error', message: 'Internal Server Error', status: 500 })
    t.equal(received.status, 500)
    t.match(received.headers.get('content-type'), /^application\/json/)
    const faults = log.filter(({ level }) => Number(level) >= 50)
    t.match(faults, [
      { err: { type: 'ResponseError', message: /^getPet 404: header X-RateLimit-Limit must/ } },
    ])
  })

  t.test('responds 500 to HEAD, too', async (t) => {
    response = { status: 200, body: { id: 1n } }
    t.equal((await call('HEAD', '/pets/1')).status, 500)
  })
})

t.test('a handler that throws responds 500 without details', async (t) => {
  const listPets = () => Promise.reject(new Error('password=hunter2'))
  const { call, log } = await startService(t, { handlers: { ...handlers, listPets } })
  const response = await call('GET', '/pets')
  t.strictSame(response.body, { code: 'internal_error', message: 'Internal Server Error', status: 500 })
  t.match(
    log.find(({ level }) => level === 50),
    { err: { message: 'password=hunter2' } },
  )
})

const schemas: Readonly<Record<string, Record<string, unknown>>> = {
  '200': { type: 'array', items: { $ref: '#/components/schemas/Id' } },
  '4xx': { type: 'object', required: ['code'] },
  default: { type: 'string' },
}
const document = { components: { schemas: { Id: { type: 'integer', format: 'int64' } } } }

function header(name: string, schema: object, required = false) {
  return { name, required, setByServer: false, schema: schema as Record<string, unknown> }
}

function response(status: string, ...headers: ReturnType<typeof header>[]) {
  const contents = [{ mediaType: 'application/json', kind: 'json', schema: schemas[status] }] as const
  return [status, { status, key: status, headers, contents }] as const
}

const operation: Operation = {
  ...(contract.operations.get('listPets') as Operation), // it is in the contract
  responses: new Map([
    response(
      '200',
      header('X-Total', { type: 'integer', minimum: 0 }, true),
      header('ETag', { type: 'string', maxLength: 4 }),
    ),
    response('204'),
    response('4xx'),
    response('default'),
  ]),
}

t.test('the checks of an operation', async (t) => {
  const check = createResponseChecks(document)(operation, true)
  const judge = (title: string, run: () => void, problem: RegExp | undefined) =>
    t.test(`${problem ? 'refuse' : 'accept'} ${title}`, async (t) => {
      if (problem === undefined) t.doesNotThrow(run)
      else t.throws(run, { name: 'ResponseError', message: problem })
    })

  const heads: [title: string, status: number, headers: Record<string, unknown>, problem?: RegExp][] = [
    ['all headers', 200, { 'x-total': '3', etag: 'abc' }],
    ['an optional header left out', 200, { 'x-total': '3' }],
    ['a header as a number', 200, { 'x-total': 3 }],
    ['undeclared headers', 204, { date: 'today' }],
    ['a required header left out', 200, { etag: 'abc' }, /^listPets 200: header X-Total is missing$/],
    [
      'a header of the wrong type',
      200,
      { 'x-total': '3.5' },
      /^listPets 200: header X-Total must be an integer$/,
    ],
    ['a header out of bounds', 200, { 'x-total': '-1' }, /^listPets 200: header X-Total must be at least 0$/],
    ['a header that is too long', 200, { 'x-total': '1', etag: 'abcde' }, /^listPets 200: header ETag /],
    ['a status of a declared class', 418, {}],
    ['any status, by default', 302, {}],
  ]
  for (const [title, status, headers, problem] of heads)
    judge(title, () => check.head(status, headers), problem)

  const bodies: [title: string, status: number, body: unknown, problem?: RegExp][] = [
    ['integers of either kind', 200, [1, 2n ** 63n - 1n]],
    ['anything where no body is declared', 204, { a: 1 }],
    ['a body by its class', 404, { code: 'x' }],
    ['a body by default', 500, 'x'],
    ['a wrong item', 200, [1, '2'], /^listPets 200: body at "\/1" must be an integer$/],
    ['a wrong body of a class', 404, {}, /^listPets 404: body at "" must have required property 'code'$/],
    ['a wrong body by default', 500, {}, /^listPets 500: body at "" must be string$/],
  ]
  for (const [title, status, body, problem] of bodies) judge(title, () => check.body(status, body), problem)
})

t.test('responses whose schemas refer to others', async (t) => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const animal = (kind: string, name: string) => ({
    type: 'object',
    required: ['kind', name],
    properties: { kind: ref(kind), [name]: { type: 'integer' } },
  })
  const document = toOpenApi31({
    openapi: '3.1.0',
    components: {
      schemas: {
        Tree: {
          type: 'object',
          properties: { leaves: { type: 'array', items: ref('Tree') }, age: { type: 'integer' } },
        },
        Secret: { type: 'string', writeOnly: true },
        Login: {
          required: ['name', 'secret'],
          properties: { name: { type: 'string' }, secret: ref('Secret') },
        },
        User: { type: 'object', required: ['secret'], allOf: [ref('Login')] },
        Closed: { unevaluatedProperties: false, allOf: [ref('Tree')] },
        Animal: { oneOf: [ref('Cat'), ref('Dog')], discriminator: { propertyName: 'kind' } },
        Cat: animal('CatKind', 'lives'),
        CatKind: { enum: ['cat', 'tom'] },
        Dog: animal('DogKind', 'tricks'),
        DogKind: { const: 'dog' },
        Null: { type: 'string', nullable: true },
      },
    },
  }) as { components: { schemas: Record<string, object> } }
  const checks = createResponseChecks(document)
  const refused = (name: string, body: unknown) => {
    const contents = [{ mediaType: 'application/json', kind: 'json', schema: ref(name) }] as const
    const ok = { status: '200', key: '200', headers: [], contents }
    const check = checks({ ...operation, responses: new Map([['200', ok]]) }, true)
    try {
      check.body(200, body)
    } catch (error) {
      return (error as Error).message.replace('listPets 200: body at ', '')
    }
    return undefined
  }
  const cases: [name: string, body: unknown, problem: string | undefined][] = [
    ['Tree', { leaves: [{ leaves: [{ age: 1n }] }] }, undefined],
    ['Tree', { leaves: [{ leaves: [{ age: '1' }] }] }, '"/leaves/0/leaves/0/age" must be an integer'],
    ['User', { name: 'a' }, undefined],
    ['User', {}, `"" must have required property 'name'`],
    ['User', { name: 'a', secret: 'b' }, '"/secret" is writeOnly and must not be returned'],
    ['Closed', { age: 1 }, undefined],
    ['Closed', { size: 1 }, '"" must NOT have unevaluated properties'],
    ['Animal', { kind: 'tom', lives: 7 }, undefined],
    ['Animal', { kind: 'dog', lives: 7 }, `"" must have required property 'tricks'`],
    ['Null', null, undefined],
  ]
  for (const [name, body, problem] of cases) {
    const shown = JSON.stringify(body, (_, each) => (typeof each === 'bigint' ? Number(each) : each))
    t.equal(refused(name, body), problem, `${name} ${shown}`)
  }
})

t.test('an undeclared status is refused', async (t) => {
  const check = createResponseChecks(document)({ ...operation, responses: new Map([response('200')]) }, true)
  t.doesNotThrow(() => check.head(200, {}))
  t.throws(() => check.head(201, {}), new ResponseError('listPets 201', 'the status is not declared'))
})
