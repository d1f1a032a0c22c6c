import path from 'node:path'
import t, { type Test } from 'tap'
import { type Document, parseDocument, stringify } from 'yaml'
import type { Contract } from '../../../src/openapi/contract/contract.js'
import { ContractError } from '../../../src/openapi/contract/contract-error.js'
import { readContract, toContract } from '../../../src/openapi/contract/read.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import { fixedPlan } from '../../fixtures/facts.js'
import { contract } from '../../fixtures/service.js'

function read(t: Test, text: string): Promise<Contract> {
  return readContract(path.join(temporaryDirectory(t, { 'openapi.yaml': text }), 'openapi.yaml'))
}

// The problems of a contract, or what its operations declare that is not supported.
async function problemsOf(t: Test, text: string): Promise<string[]> {
  try {
    const { operations } = await read(t, text)
    return [...operations.values()].flatMap(({ unsupported }) => unsupported)
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    return error.message.split('\n').map((line) => line.replace(/^.*openapi\.yaml(:\d+:\d+)?: /, ''))
  }
}

const original = parseDocument(contract.text)

function edited(edit: (document: Document) => void): Document {
  const document = original.clone()
  edit(document)
  return document
}

const list = ['paths', '/pets', 'get']
const post = ['paths', '/pets', 'post']
const get = ['paths', '/pets/{petId}', 'get']
const codes = ['components', 'schemas', 'ErrorCode']

// The service's contract with fixed values, so that the tests do not depend on its own.
const known = edited((document) => {
  const facts = {
    servers: [{ url: 'https://pets.example/v1' }],
    'x-limits': { bodyBytes: 65536, urlBytes: 8192, headerBytes: 16384 },
    'x-rate-limits': {
      plans: {
        free: { perMinute: 60, perDay: 1000 },
        pro: { perMinute: 300, perDay: 10000 },
        enterprise: 'custom',
      },
      anonymous: { perMinute: 50 },
      ban: { rejections: 200, withinSeconds: 60, banSeconds: 300 },
    },
    'x-idempotency': { keepHours: 24 },
  }
  for (const [name, value] of Object.entries(facts)) document.set(name, document.createNode(value))
  document.setIn(['info', 'title'], 'Animal Store Service')
  document.setIn(['info', 'version'], '1.2.3')
  document.setIn([...get, 'x-deprecated-at'], '2026-11-20')
  document.setIn([...get, 'x-sunset'], '2030-12-05')
  const parameters = [
    { name: 'limit', in: 'query', schema: { type: 'integer', default: 20 } },
    { name: 'status', in: 'query', schema: { type: 'string' } },
  ]
  document.setIn([...list, 'parameters'], document.createNode(parameters))
})

t.test('a contract is read completely', async (t) => {
  const {
    operations,
    prefix,
    limits,
    rateLimits,
    idempotency,
    errorStatuses,
    title,
    version,
    securitySchemes,
  } = await read(t, String(known))
  t.match({ title, version, prefix }, { title: 'Animal Store Service', version: '1.2.3', prefix: '/v1' })
  t.strictSame(limits, { body: 65536, url: 8192, header: 16384 })
  t.strictSame(Object.fromEntries(rateLimits.plans), {
    free: { perMinute: 60, perDay: 1000 },
    pro: { perMinute: 300, perDay: 10000 },
    enterprise: 'custom',
  })
  t.strictSame(rateLimits.anonymous, { perMinute: 50 })
  t.strictSame(rateLimits.ban, { rejections: 200, withinSeconds: 60, banSeconds: 300 })
  t.strictSame(idempotency, { keepHours: 24 })
  t.equal(errorStatuses.get('pet_not_found'), 404)
  t.match(securitySchemes.get('apiKey'), { type: 'http', scheme: 'bearer' })
  t.match(operations.get('listPets'), { name: 'listPets', method: 'GET', path: '/pets' })
  t.match(operations.get('createPet'), { name: 'createPet', method: 'POST', path: '/pets' })
  t.match(operations.get('getPet'), { name: 'getPet', method: 'GET', path: '/pets/{petId}' })
})

t.test('an operation is read with all it declares', async (t) => {
  const { operations } = await read(t, String(known))
  const listPets = operations.get('listPets')
  t.strictSame(listPets?.security, [['apiKey']])
  const plain = { in: 'query', required: false, hasDefault: false, form: undefined }
  t.match(listPets?.parameters, [
    { ...plain, name: 'limit', hasDefault: true, schema: { type: 'integer' } },
    { ...plain, name: 'status', schema: { type: 'string' } },
  ])
  t.equal(listPets?.body, undefined)
  t.strictSame(operations.get('createPet')?.body, {
    required: true,
    mediaTypes: ['application/json'],
    contents: [
      { mediaType: 'application/json', kind: 'json', schema: { $ref: '#/components/schemas/NewPet' } },
    ],
  })
  const headers = operations.get('createPet')?.responses.get('201')?.headers
  const headerOf = (name: string) => headers?.find((header) => header.name === name)
  t.match(headerOf('X-Request-Id'), { required: true, setByServer: true })
  t.match(headerOf('Location'), { required: true, setByServer: false, schema: { type: 'string' } })
  t.strictSame(operations.get('getPet')?.deprecation, {
    deprecatedAt: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    afterSunset: 'serve',
    successor: 'listPets',
  })
})

t.test('an operation may be public', async (t) => {
  const document = edited((document) => document.setIn(['paths', '/pets', 'get', 'security'], []))
  t.strictSame((await read(t, String(document))).operations.get('listPets')?.security, [])
})

// A contract without problems.
function served(t: Test, edit: (document: Document) => void): Contract {
  const { problems, contract } = toContract({ document: edited(edit).toJS(), text: '' })
  t.strictSame(problems, [])
  return contract
}

const prefixes: [address: string, prefix: string][] = [
  ['https://pets.example/v1', '/v1'],
  ['https://pets.example/a/b/', '/a/b'],
  ['https://pets.example', ''],
  ['/v3', '/v3'],
  ['https://{host}', ''],
  ['https://', ''],
]

for (const [address, prefix] of prefixes) {
  t.test(`the prefix of the server ${address} is "${prefix}"`, async (t) => {
    const document = edited((document) => document.set('servers', [{ url: address }]))
    t.equal(toContract({ document: document.toJS(), text: '' }).contract.prefix, prefix)
  })
}

const brokenReferences: [title: string, edit: (document: Document) => void, problem: string][] = [
  [
    'a reference to nowhere',
    (document) => document.setIn([...get, 'responses', '404', '$ref'], '#/components/responses/Nothing'),
    'cannot resolve $ref #/components/responses/Nothing',
  ],
  [
    'a reference to a file that is not there',
    (document) => document.setIn([...get, 'responses', '404', '$ref'], '/other.yaml#/NotFound'),
    `cannot read the file ${path.relative(process.cwd(), '/other.yaml')}`,
  ],
  [
    'a reference to an address',
    (document) => document.setIn([...get, 'responses', '404', '$ref'], 'https://pets.example/NotFound.yaml'),
    '$ref https://pets.example/NotFound.yaml is a URL, which is not fetched: keep a copy next to the contract',
  ],
  [
    'a reference to nowhere that no operation uses',
    (document) => document.setIn(['components', 'schemas', 'Toy'], { $ref: '#/components/schemas/Nothing' }),
    'cannot resolve $ref #/components/schemas/Nothing',
  ],
]

for (const [title, edit, problem] of brokenReferences) {
  t.test(`a contract with ${title} is refused in one line`, async (t) => {
    t.strictSame(await problemsOf(t, String(edited(edit))), [problem])
  })
}

const broken: [title: string, edit: (document: Document) => void, problem: string][] = [
  [
    'an operationId that is not a string',
    (document) => {
      document.setIn([...list, 'operationId'], '')
      document.deleteIn([...get, 'x-successor'])
    },
    'GET /pets: operationId must be a non-empty string',
  ],
  [
    'x-idempotent without the header',
    (document) => document.deleteIn([...post, 'parameters']),
    'POST /pets: x-idempotent requires the header parameter Idempotency-Key',
  ],
  [
    'x-idempotent that is neither true nor false',
    (document) => document.setIn([...post, 'x-idempotent'], 'yes'),
    'POST /pets: x-idempotent must be true or false',
  ],
  [
    'x-idempotent on a safe method',
    (document) => {
      document.setIn([...list, 'x-idempotent'], true)
      document.addIn([...list, 'parameters'], { $ref: '#/components/parameters/IdempotencyKey' })
    },
    'GET /pets: x-idempotent is not for GET, which changes nothing',
  ],
  [
    'x-idempotent without a 409 response',
    (document) => {
      for (const status of ['409', 'default']) document.deleteIn([...post, 'responses', status])
    },
    'POST /pets: x-idempotent requires a 409 response, for a key whose first request is still in progress',
  ],
  [
    'x-idempotent without a 422 response',
    (document) => {
      for (const status of ['422', 'default']) document.deleteIn([...post, 'responses', status])
    },
    'POST /pets: x-idempotent requires a 422 response, for a key that another request has used',
  ],
  [
    'x-idempotent on a public operation',
    (document) => document.setIn([...post, 'security'], []),
    'POST /pets: x-idempotent requires security: keys are stored per client',
  ],
  [
    'keepHours of 0',
    (document) => document.setIn(['x-idempotency', 'keepHours'], 0),
    'x-idempotency: keepHours must be an integer above 0',
  ],
  [
    'a duplicate operationId',
    (document) => document.setIn(['paths', '/pets', 'post', 'operationId'], 'listPets'),
    'two operations have the operationId listPets',
  ],
  [
    'a derived operationId that another operation has',
    (document) => {
      document.deleteIn([...list, 'operationId'])
      document.setIn([...post, 'operationId'], 'getPets')
      document.deleteIn([...get, 'x-successor'])
    },
    'two operations have the operationId getPets',
  ],
  [
    'two operations with the same route',
    (document) => {
      const own = { operationId: 'findPet', responses: { default: { description: 'Any.' } } }
      document.setIn(['paths', '/pets/{id}'], document.createNode({ get: own }))
    },
    'getPet and findPet are both GET /pets/{id}',
  ],
  [
    'two operations with the same module name',
    (document) => document.setIn(['paths', '/pets', 'post', 'operationId'], 'list pets'),
    'listPets and list pets would share the module listPets: rename one of them',
  ],
  [
    'an operationId that is too long',
    (document) => document.setIn(['paths', '/pets', 'post', 'operationId'], 'a'.repeat(201)),
    `${'a'.repeat(201)}: the operationId names a file and must have at most 200 characters`,
  ],
  [
    'a method that cannot be served',
    (document) => document.setIn(['paths', '/pets', 'trace'], document.getIn(list)),
    'TRACE /pets: the method TRACE is not supported',
  ],
  [
    "a path with Fastify's own marks",
    (document) => {
      document.setIn(['paths', '/pets*'], document.getIn(['paths', '/pets/{petId}']))
      document.deleteIn(['paths', '/pets/{petId}'])
    },
    '/pets*: a path cannot contain *, ? or #',
  ],
  [
    'no responses',
    (document) => document.setIn([...list, 'responses'], document.createNode({})),
    'GET /pets declares no responses',
  ],
  [
    'an older version of OpenAPI',
    (document) => document.set('openapi', '2.0'),
    'openapi must be 3.0.x or 3.1.x, not 2.0',
  ],
  [
    'keepHours beyond the range of dates',
    (document) => document.setIn(['x-idempotency', 'keepHours'], 1_000_000_000),
    'x-idempotency: keepHours must be at most 87600',
  ],
  [
    'a misspelt x-rate-limits',
    (document) => {
      document.set('x-rate-limit', document.get('x-rate-limits'))
    },
    'x-rate-limit is unknown: did you mean x-rate-limits?',
  ],
  [
    'a sunset before the deprecation',
    (document) => document.setIn([...get, 'x-sunset'], '2000-01-01'),
    'GET /pets/{petId}: x-sunset is before x-deprecated-at',
  ],
  [
    'an unknown x-after-sunset',
    (document) => document.setIn([...get, 'x-after-sunset'], 'stop'),
    'GET /pets/{petId}: x-after-sunset must be serve or gone',
  ],
  [
    'x-after-sunset without a sunset',
    (document) => {
      document.deleteIn([...get, 'x-sunset'])
      document.setIn([...get, 'x-after-sunset'], 'gone')
    },
    'GET /pets/{petId}: x-after-sunset requires x-sunset',
  ],
  [
    'x-after-sunset: gone without a 410 response',
    (document) => {
      document.setIn([...get, 'x-after-sunset'], 'gone')
      document.setIn([...get, 'responses'], document.createNode({ 200: { description: 'One.' } }))
    },
    'GET /pets/{petId}: x-after-sunset: gone requires a 410 response',
  ],
  [
    'a sunset that is not a date',
    (document) => document.setIn([...get, 'x-sunset'], 'soon'),
    'GET /pets/{petId}: x-sunset must be a date like 2030-12-05',
  ],
  [
    'a sunset with a time',
    (document) => document.setIn([...get, 'x-sunset'], '2030-12-05T00:00:00Z'),
    'GET /pets/{petId}: x-sunset must be a date like 2030-12-05',
  ],
  [
    'a sunset on a day that does not exist',
    (document) => document.setIn([...get, 'x-sunset'], '2031-02-30'),
    'GET /pets/{petId}: x-sunset must be a date like 2030-12-05',
  ],
  [
    'an x-deprecated-at that is not a date',
    (document) => document.setIn([...get, 'x-deprecated-at'], '2026-13-01'),
    'GET /pets/{petId}: x-deprecated-at must be a date like 2030-12-05',
  ],
  [
    'a deprecation without a date',
    (document) => document.deleteIn([...get, 'x-deprecated-at']),
    'GET /pets/{petId}: x-sunset requires x-deprecated-at',
  ],
  [
    'an unknown successor',
    (document) => document.setIn([...get, 'x-successor'], 'findPet'),
    'getPet: x-successor findPet is not an operationId',
  ],
  [
    'a successor with path parameters',
    (document) => document.setIn([...get, 'x-successor'], 'getPet'),
    'getPet: x-successor getPet has path parameters, so a Link header cannot refer to it',
  ],
  [
    'a plan without numbers',
    (document) => document.setIn(['x-rate-limits', 'plans', fixedPlan.name], 'plenty'),
    `x-rate-limits: plan ${fixedPlan.name}: perMinute and perDay must be integers above 0`,
  ],
  [
    'a plan with half its numbers',
    (document) => document.deleteIn(['x-rate-limits', 'plans', fixedPlan.name, 'perDay']),
    `x-rate-limits: plan ${fixedPlan.name}: perDay must be an integer above 0`,
  ],
  [
    'a plan with a quota of 0',
    (document) => document.setIn(['x-rate-limits', 'plans', fixedPlan.name, 'perMinute'], 0),
    `x-rate-limits: plan ${fixedPlan.name}: perMinute must be an integer above 0`,
  ],
  [
    'no limit for clients without a key',
    (document) => document.deleteIn(['x-rate-limits', 'anonymous']),
    'x-rate-limits: anonymous: perMinute must be an integer above 0',
  ],
  [
    'a ban without an end',
    (document) => document.deleteIn(['x-rate-limits', 'ban', 'banSeconds']),
    'x-rate-limits: ban: banSeconds must be an integer above 0',
  ],
  [
    'no plans',
    (document) => document.deleteIn(['x-rate-limits', 'plans']),
    'x-rate-limits: plans must name at least one plan',
  ],
  [
    'an error code without a status',
    (document) => document.addIn([...codes, 'enum'], 'too_fluffy'),
    'ErrorCode: x-enumStatuses must map too_fluffy to a status from 400 to 599',
  ],
  [
    'an error code with a status that is not an error',
    (document) => document.setIn([...codes, 'x-enumStatuses', 'invalid_json'], 200),
    'ErrorCode: x-enumStatuses must map invalid_json to a status from 400 to 599',
  ],
  [
    'a status for no error code',
    (document) => document.setIn([...codes, 'x-enumStatuses', 'too_fluffy'], 400),
    'ErrorCode: x-enumStatuses has too_fluffy, which is not in the enum',
  ],
  [
    'a missing error code',
    (document) => {
      const names = document.getIn([...codes, 'enum']) as { items: { value: string }[] }
      document.deleteIn([...codes, 'enum', names.items.findIndex(({ value }) => value === 'invalid_json')])
      document.deleteIn([...codes, 'x-enumStatuses', 'invalid_json'])
    },
    'ErrorCode: the enum must contain invalid_json, which the server sends',
  ],
  [
    'a limit in words',
    (document) => document.setIn(['x-limits', 'bodyBytes'], '64 KiB'),
    'x-limits: bodyBytes must be an integer above 0',
  ],
  [
    'a limit of header bytes that no request is within',
    (document) => document.setIn(['x-limits', 'headerBytes'], 10),
    'x-limits: headerBytes must be at least 256, or no request would pass',
  ],
  [
    'a limit of URL bytes that no request is within',
    (document) => document.setIn(['x-limits', 'urlBytes'], 1),
    'x-limits: urlBytes must be at least 64, or no request would pass',
  ],
]

for (const [title, edit, problem] of broken) {
  t.test(`a contract with ${title} is refused in one line`, async (t) => {
    const { problems } = toContract({ document: edited(edit).toJS(), text: '' })
    t.strictSame(
      problems.map(({ text }) => text),
      [problem],
    )
  })
}

const ids = { type: 'array', items: { type: 'integer' } }
const color = { type: 'object', properties: { R: { type: 'integer' } } }
const json = (schema: object) => ({ content: { 'application/json': { schema } } })

// Added to those of GET /pets.
const parameters: [title: string, parameters: object[], problem: string][] = [
  [
    'a style of another location',
    [{ name: 'ids', in: 'query', style: 'simple', schema: ids }],
    'the query parameter ids cannot have the style simple: use form or spaceDelimited or pipeDelimited or deepObject',
  ],
  [
    'an unknown style',
    [{ name: 'ids', in: 'header', style: 'fancy', schema: ids }],
    'the header parameter ids cannot have the style fancy: use simple',
  ],
  [
    'pipeDelimited with explode',
    [{ name: 'ids', in: 'query', style: 'pipeDelimited', explode: true, schema: ids }],
    'the query parameter ids cannot have the style pipeDelimited with explode: true',
  ],
  [
    'spaceDelimited for a primitive',
    [{ name: 'id', in: 'query', style: 'spaceDelimited', schema: { type: 'string' } }],
    'the query parameter id has the style spaceDelimited, which is for arrays and objects',
  ],
  [
    'deepObject for an array',
    [{ name: 'ids', in: 'query', style: 'deepObject', schema: ids }],
    'the query parameter ids has the style deepObject, which is for objects',
  ],
  [
    'deepObject without explode',
    [{ name: 'color', in: 'query', style: 'deepObject', explode: false, schema: color }],
    'the query parameter color cannot have the style deepObject with explode: false',
  ],
  [
    'deepObject with nested arrays',
    [{ name: 'f', in: 'query', style: 'deepObject', schema: { ...color, additionalProperties: ids } }],
    'the query parameter f contains nested arrays or objects, for which OpenAPI has no style: use content',
  ],
  [
    'an array of objects by reference',
    [{ name: 'pets', in: 'query', schema: { type: 'array', items: { $ref: '#/components/schemas/Pet' } } }],
    'the query parameter pets contains nested arrays or objects, for which OpenAPI has no style: use content',
  ],
  [
    'an exploded array in a cookie',
    [{ name: 'ids', in: 'cookie', schema: ids }],
    'the cookie parameter ids must have explode: false, because a cookie has a single value',
  ],
  [
    'a string or an object',
    [{ name: 'q', in: 'query', schema: { oneOf: [{ type: 'string' }, color] } }],
    'the query parameter q allows an object and another type, which its text does not distinguish: use content',
  ],
  [
    'a string or an array, not exploded',
    [{ name: 'q', in: 'query', explode: false, schema: { type: ['string', 'array'] } }],
    'the query parameter q allows an array and a primitive, which its text does not distinguish: use content',
  ],
  [
    'required with allowEmptyValue',
    [{ name: 'q', in: 'query', required: true, allowEmptyValue: true, schema: { type: 'string' } }],
    'the query parameter q cannot be both required and allowEmptyValue: an empty value counts as absent',
  ],
  [
    'content other than JSON',
    [{ name: 'q', in: 'query', content: { 'text/csv': { schema: ids } } }],
    'the query parameter q has content of type text/csv: only JSON is supported',
  ],
  [
    'content and schema',
    [{ name: 'q', in: 'query', schema: ids, ...json(ids) }],
    'the query parameter q must have either schema or content with one media type',
  ],
  [
    'an unknown location',
    [{ name: 'q', in: 'body', schema: { type: 'string' } }],
    'the body parameter q must be in path, query, header or cookie',
  ],
  [
    'a parameter called __proto__',
    [{ name: '__proto__', in: 'query', schema: { type: 'string' } }],
    'the query parameter __proto__ has a name that JavaScript reserves',
  ],
  [
    'a property called __proto__',
    [{ name: 'q', in: 'query', schema: { type: 'object', properties: JSON.parse('{"__proto__":{}}') } }],
    'the query parameter q has the property __proto__, a name that JavaScript reserves',
  ],
  [
    'a duplicate parameter',
    [
      { name: 'X-Id', in: 'header', schema: { type: 'string' } },
      { name: 'x-id', in: 'header', schema: { type: 'string' } },
    ],
    'the parameter header.x-id is declared twice',
  ],
  [
    'a property with the name of a parameter',
    [{ name: 'page', in: 'query', schema: { type: 'object', properties: { limit: { type: 'integer' } } } }],
    'the query parameters limit and page both match limit',
  ],
  [
    'a parameter named like a deepObject property',
    [
      { name: 'f', in: 'query', style: 'deepObject', schema: color },
      { name: 'f[R]', in: 'query', schema: { type: 'string' } },
    ],
    'the query parameters f and f[R] both match f[R]',
  ],
  [
    'two exploded objects with additional properties',
    [
      { name: 'a', in: 'query', schema: { type: 'object' } },
      { name: 'b', in: 'query', schema: { ...color, additionalProperties: true } },
    ],
    'the query parameters a and b each match any name: use the style deepObject',
  ],
]

for (const [title, added, problem] of parameters) {
  t.test(`${title} is reported as unsupported in one line`, async (t) => {
    const document = edited((document) => {
      for (const each of added) document.addIn([...list, 'parameters'], document.createNode(each))
    })
    t.strictSame(await problemsOf(t, String(document)), [`GET /pets: ${problem}`])
  })
}

t.test('the content of a parameter may be JSON with parameters of its own', async (t) => {
  const content = { 'Application/JSON; charset=utf-8': { schema: ids } }
  const document = edited((document) => {
    document.addIn([...list, 'parameters'], document.createNode({ name: 'q', in: 'query', content }))
  })
  t.strictSame(await problemsOf(t, String(document)), [])
})

t.test('an array in a path must have its segment to itself', async (t) => {
  const document = edited((document) => {
    document.setIn(['paths', '/herds/{from}-{to}'], {
      get: {
        operationId: 'listHerds',
        parameters: ['from', 'to'].map((name) => ({ name, in: 'path', required: true, schema: ids })),
        responses: { default: { description: 'Any.' } },
      },
    })
  })
  t.strictSame(
    await problemsOf(t, String(document)),
    ['from', 'to'].map(
      (name) =>
        `GET /herds/{from}-{to}: the path parameter ${name} must be the only parameter in its path segment`,
    ),
  )
})

t.test("an operation's parameters override those of its path item", async (t) => {
  const document = edited((document) => {
    const shared = [
      { name: 'shop', in: 'query', schema: { type: 'string' } },
      { name: 'limit', in: 'query', schema: { type: 'string' } },
      { name: 'Accept', in: 'header', schema: { type: 'string' } },
    ]
    document.setIn(['paths', '/pets', 'parameters'], document.createNode(shared))
  })
  const { operations } = await read(t, String(document))
  const namesOf = (id: string) => operations.get(id)?.parameters.map(({ name }) => name)
  t.strictSame(namesOf('listPets'), ['shop', 'limit', 'status', 'cursor'])
  t.match(operations.get('listPets')?.parameters[1], { schema: { type: 'integer' } })
  t.strictSame(namesOf('createPet'), ['shop', 'limit', 'Idempotency-Key'])
})

t.test('all problems of a contract are reported at once', async (t) => {
  const document = edited((document) => {
    document.setIn(['x-limits', 'bodyBytes'], 0)
    document.deleteIn([...get, 'x-deprecated-at'])
    document.deleteIn(['x-rate-limits', 'plans'])
  })
  t.strictSame(await problemsOf(t, String(document)), [
    'GET /pets/{petId}: x-sunset requires x-deprecated-at',
    'x-rate-limits: plans must name at least one plan',
    'x-limits: bodyBytes must be an integer above 0',
  ])
})

t.test('invalid YAML is refused with its line and column', async (t) => {
  const text = contract.text.replace(/^ {2}title: .*/m, '  title: "Animal Store Service')
  await t.rejects(read(t, text), { name: 'ContractError', message: /openapi\.yaml:\d+:\d+: / })
})

for (const [title, text] of [
  ['nothing', ''],
  ['a comment', '# nothing yet\n'],
  ['a word', 'openapi\n'],
  ['a list', '- openapi\n'],
] as const) {
  t.test(`${title} is not a contract`, async (t) => {
    await t.rejects(read(t, text), { name: 'ContractError', message: /openapi\.yaml: / })
  })
}

t.test('a circular reference is refused', async (t) => {
  const self = '#/components/responses/NotFound'
  const document = edited((document) =>
    document.setIn(['components', 'responses', 'NotFound'], { $ref: self }),
  )
  await t.rejects(read(t, String(document)), { name: 'ContractError', message: self })
})

t.test('a missing contract file is named', async (t) => {
  await t.rejects(readContract(path.join(temporaryDirectory(t), 'none.yaml')), {
    name: 'ContractError',
    message: /cannot read the file .*none\.yaml/,
  })
})

t.test('a link to an unknown operation is a warning', async (t) => {
  const contract = served(t, (document) => {
    const links = { self: { operationId: 'getPet' }, next: { operationId: 'readPet' } }
    document.setIn([...list, 'responses', '200', 'links'], links)
  })
  t.ok(contract.warnings.includes('listPets: the link next refers to readPet, which is not an operationId'))
  t.notOk(contract.warnings.some((each) => each.includes('link self')))
})

t.test('an operation without an operationId gets one from its method and path, with a warning', async (t) => {
  const contract = served(t, (document) => {
    for (const operation of [list, get]) document.deleteIn([...operation, 'operationId'])
    document.deleteIn([...get, 'x-successor'])
  })
  t.match(contract.operations.get('getPetsByPetId'), { name: 'getPetsByPetId', method: 'GET' })
  t.match(contract.document, { paths: { '/pets': { get: { operationId: 'getPets' } } } })
  const warnings = contract.warnings.filter((each) => each.includes('no operationId'))
  t.strictSame(warnings, [
    'GET /pets has no operationId: the server uses getPets',
    'GET /pets/{petId} has no operationId: the server uses getPetsByPetId',
  ])
})

t.test('of servers with different paths, the first counts and the others are a warning', async (t) => {
  const servers = ['https://a.example/v1', 'https://b.example', 'https://c.example/mock/'].map((url) => ({
    url,
  }))
  const contract = served(t, (document) => document.setIn(['servers'], servers))
  t.equal(contract.prefix, '/v1')
  t.match(contract.warnings, [
    'servers: the path /, /mock is ignored: all operations are served under /v1, the path of the first server',
  ])
})

const item: readonly string[] = ['paths', '/pets/{petId}']

t.test('an undeclared path parameter is a string, with a warning', async (t) => {
  const contract = served(t, (document) => {
    document.deleteIn([...item, 'parameters'])
    document.deleteIn([...get, 'parameters'])
  })
  const [parameter] = contract.operations.get('getPet')?.parameters ?? []
  t.match(parameter, { name: 'petId', in: 'path', required: true, schema: { type: 'string' } })
  t.ok(
    contract.warnings.includes(
      'GET /pets/{petId}: the path parameter petId is not declared: it is read as a string',
    ),
  )
})

t.test('in a referenced path item, an undeclared path parameter is refused', async (t) => {
  const document = original.toJS()
  const { parameters: _, ...operation } = document.paths['/pets/{petId}'].get
  document.paths['/pets/{petId}'] = { $ref: '#/components/pathItems/Pet' }
  document.components.pathItems = { Pet: { get: operation } }
  const { problems } = toContract({ document, text: '' })
  t.strictSame(
    problems.map(({ text }) => text),
    ['GET /pets/{petId}: the path parameter petId is not declared'],
  )
})

t.test('an optional body of GET is ignored, with a warning', async (t) => {
  const content = { 'application/json': { schema: { type: 'object' } } }
  const contract = served(t, (document) => document.setIn([...list, 'requestBody'], { content }))
  t.equal(contract.operations.get('listPets')?.body, undefined)
  t.match(
    contract.warnings.join(),
    /GET \/pets: a requestBody has no defined meaning for this method .*: it is ignored/,
  )
})

t.test('an Idempotency-Key without x-idempotent is a warning', async (t) => {
  const contract = served(t, (document) => document.deleteIn([...post, 'x-idempotent']))
  t.strictSame(contract.warnings, [
    'POST /pets: the header parameter Idempotency-Key has no effect without x-idempotent',
  ])
})

t.test('a $ref to a whole map is replaced by the map', async (t) => {
  const { components } = original.toJS()
  const properties = { owner: { type: 'string' } }
  const document = edited((document) => {
    document.setIn(['components', 'schemas', 'Owner'], { properties: { $ref: './owner.yaml#/properties' } })
    document.setIn(['components', 'headers'], { $ref: './headers.yaml' })
  })
  const folder = temporaryDirectory(t, {
    'openapi.yaml': String(document),
    'owner.yaml': stringify({ properties }),
    'headers.yaml': stringify(components.headers),
  })
  const read = await readContract(path.join(folder, 'openapi.yaml'))
  t.match(read.document, { components: { schemas: { Owner: { properties } }, headers: components.headers } })
})

// Such as a schema of JSON's own, whose references are within it, or a member as SCIM names it (RFC 7643, section 4.2).
const example = {
  definitions: { base: {} },
  allOf: [{ $ref: '#/definitions/base' }],
  members: [{ value: '1', $ref: 'https://pets.example/users/1' }],
}

for (const [title, added] of [
  ['an example', { example }],
  ['a default', { default: example }],
  ['an enum', { enum: [example] }],
] as const) {
  t.test(`what looks like a reference in ${title} is data`, async (t) => {
    const document = edited((document) => {
      const schema = document.createNode({ type: 'object', ...added })
      document.setIn(['components', 'schemas', 'Spare'], schema)
      document.setIn([...list, 'responses', '299'], {
        description: 'Spare.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Spare' } } },
      })
    })
    const inOne = await read(t, String(document))
    t.match(inOne.document, { components: { schemas: { Spare: added } } })

    document.setIn(['components', 'schemas', 'Other'], { $ref: 'other.yaml' })
    const files = { 'openapi.yaml': String(document), 'other.yaml': stringify({ type: 'object', ...added }) }
    const split = await readContract(path.join(temporaryDirectory(t, files), 'openapi.yaml'))
    t.match(split.document, { components: { schemas: { Spare: added, Other: added } } })
  })
}

t.test('a file with only references is a map, whatever its names', async (t) => {
  const files = {
    'openapi.yaml': `openapi: 3.1.0
info: { title: Toys, version: 1.0.0 }
paths: {}
components: { schemas: { $ref: schemas.yaml } }
`,
    'schemas.yaml': 'x-toy: { $ref: toy.yaml }\n',
    'toy.yaml': 'type: string\n',
  }
  const { document } = await readContract(path.join(temporaryDirectory(t, files), 'openapi.yaml'))
  t.match(document, { components: { schemas: { 'x-toy': { type: 'string' } } } })
})
