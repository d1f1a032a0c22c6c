// The results of the contract reader. Its refusals are in cases.yaml.

import path from 'node:path'
import { contractOf } from 'contract-testing/engine'
import { rounds } from 'contract-testing/nightly'
import t from 'tap'
import { stringify } from 'yaml'
import { readContract, toContract } from '../../src/compile/read.js'
import { ownErrorStatuses } from '../../src/document/defaults.js'
import type { ExtensionReader, ExtensionReaders } from '../../src/document/extension-readers.js'

const schemas = {
  Error: { type: 'object' },
  ErrorCode: {
    type: 'string',
    enum: [...Object.keys(ownErrorStatuses), 'not_here'],
    'x-enumStatuses': { ...ownErrorStatuses, not_here: 404 },
  },
  NewToy: { type: 'object' },
}

const document = {
  info: { title: 'Toy Service', version: '1.2.3' },
  servers: [{ url: 'https://toys.example/v1' }],
  security: [{ apiKey: [] }],
  'x-limits': { bodyBytes: 65536, urlBytes: 8192, headerBytes: 16384 },
  'x-idempotency': { keepHours: 48 },
  paths: {
    '/toys': {
      parameters: [
        { name: 'shop', in: 'query', schema: { type: 'string' } },
        { name: 'limit', in: 'query', schema: { type: 'string' } },
        { name: 'Accept', in: 'header', schema: { type: 'string' } },
      ],
      get: {
        operationId: 'listToys',
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', default: 20 } },
          { name: 'X-Shelf', in: 'header', schema: { type: 'string' } },
        ],
        responses: { 204: { description: 'None.' } },
      },
      post: {
        operationId: 'createToy',
        security: [],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewToy' } } },
        },
        responses: {
          201: {
            description: 'Made.',
            headers: {
              'X-Request-Id': { required: true, 'x-set-by-server': true, schema: { type: 'string' } },
              Location: { required: true, schema: { type: 'string' } },
            },
          },
        },
      },
    },
    '/toys/{toyId}': {
      get: {
        operationId: 'getToy',
        deprecated: true,
        'x-deprecated-at': '2026-11-20',
        'x-sunset': '2030-12-05',
        'x-successor': 'listToys',
        parameters: [{ name: 'toyId', in: 'path', required: true, schema: { type: 'integer' } }],
        responses: { 204: { description: 'It.' } },
      },
    },
  },
  components: { schemas, securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
}

t.test('a contract is read completely', async (t) => {
  const contract = await contractOf(document)
  t.match(contract, { title: 'Toy Service', version: '1.2.3', prefix: '/v1', idempotency: { keepHours: 48 } })
  t.strictSame(contract.limits, { body: 65536, url: 8192, header: 16384 })
  t.equal(contract.errorStatuses.get('not_here'), 404)
  t.match(contract.securitySchemes.get('apiKey'), { type: 'http', scheme: 'bearer' })
  t.match(contract.operations.get('listToys'), { name: 'listToys', method: 'GET', path: '/toys' })
  t.match(contract.operations.get('createToy'), { name: 'createToy', method: 'POST', path: '/toys' })
  t.match(contract.operations.get('getToy'), { name: 'getToy', method: 'GET', path: '/toys/{toyId}' })
})

const shelves: ExtensionReader<number> = (value, reader) => {
  const { count } = reader.positiveIntegers('x-shelves', value, ['count'])
  return count
}

t.test('an extension of others is read by the reader that is handed in', async (t) => {
  const read = (files: Readonly<Record<string, string>>) => readFiles(files, { 'x-shelves': shelves })
  const start = { openapi: '3.1.0', info: document.info, paths: {} }
  const textOf = (more: object) => stringify({ ...start, ...more })
  t.strictSame((await read({ 'openapi.yaml': textOf({}) })).extensions, {}, 'if the document has it')
  const own = await read({ 'openapi.yaml': textOf({ 'x-shelves': { count: 3 } }) })
  t.equal(own.extensions['x-shelves'], 3)
  const elsewhere = { $ref: 'shelves.yaml' }
  const split = await read({
    'openapi.yaml': textOf({ 'x-shelves': elsewhere }),
    'shelves.yaml': 'count: 4\n',
  })
  t.equal(split.extensions['x-shelves'], 4, 'in another file, too')
})

const refusedExtensions: [title: string, more: object, message: string][] = [
  ['wrong', { 'x-shelves': { count: 0 } }, '5:1: x-shelves: count must be an integer above 0'],
  ['misspelt', { 'x-shelve': {} }, '5:1: x-shelve is unknown: did you mean x-shelves?'],
]
for (const [title, more, message] of refusedExtensions) {
  t.test(`one that is ${title} is refused with its place`, async (t) => {
    const text = stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, ...more, paths: {} })
    await t.rejects(readFiles({ 'openapi.yaml': text }, { 'x-shelves': shelves }), {
      name: 'ContractError',
      message: `openapi.yaml:${message}`,
    })
  })
}

t.test('an operation is read with all it declares', async (t) => {
  const { operations } = await contractOf(document)
  const [list, create] = [operations.get('listToys'), operations.get('createToy')]
  t.strictSame([list?.security, create?.security], [[[{ name: 'apiKey', scopes: [] }]], []])
  const plain = { in: 'query', required: false, hasDefault: false, form: undefined }
  t.match(list?.parameters, [
    { ...plain, name: 'shop', schema: { type: 'string' } },
    { ...plain, name: 'limit', hasDefault: true, schema: { type: 'integer' } },
    { ...plain, in: 'header', name: 'X-Shelf', schema: { type: 'string' } },
  ])
  t.strictSame(
    create?.parameters.map(({ name, schema }) => [name, schema.type]),
    [
      ['shop', 'string'],
      ['limit', 'string'],
    ],
    'those of the path item, but for those that other parts of the contract describe',
  )
  t.equal(list?.body, undefined)
  const judge = /^body\d+$/
  const schema = { $ref: '#/components/schemas/NewToy' }
  t.match(create?.body, {
    required: true,
    mediaTypes: ['application/json'],
    contents: [{ mediaType: 'application/json', kind: 'json', schema, judge }],
  })
  t.match(create?.responses.get('201')?.headers, [
    { name: 'X-Request-Id', required: true, setByServer: true },
    { name: 'Location', required: true, setByServer: false, schema: { type: 'string' } },
  ])
  t.strictSame(operations.get('getToy')?.deprecation, {
    deprecatedAt: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    afterSunset: 'serve',
    successor: 'listToys',
  })
})

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
    const changed = { openapi: '3.1.0', ...document, servers: [{ url: address }] }
    t.equal(toContract({ document: changed, text: '' }).contract.prefix, prefix)
  })
}

const { enum: codes, 'x-enumStatuses': statuses } = schemas.ErrorCode
const { not_here: _, ...statusesOfServer } = statuses
const { invalid_json: __, ...others } = statuses
const ofCodes: [title: string, codes: readonly string[], statuses: object, problem: string][] = [
  [
    'a code without a status',
    codes,
    statusesOfServer,
    'x-enumStatuses must map not_here to a status from 400 to 599',
  ],
  [
    'a status that is no error',
    codes,
    { ...statuses, invalid_json: 200 },
    'x-enumStatuses must map invalid_json to a status from 400 to 599',
  ],
  [
    'a status of no code',
    codes,
    { ...statuses, too_fluffy: 400 },
    'x-enumStatuses has too_fluffy, which is not in the enum',
  ],
  [
    'no code that the server sends',
    codes.filter((each) => each !== 'invalid_json'),
    others,
    'the enum must contain invalid_json, which the server sends with 400',
  ],
]
for (const [title, codes, statuses, problem] of ofCodes) {
  t.test(`an ErrorCode with ${title} is refused in one line`, async (t) => {
    const ErrorCode = { type: 'string', enum: codes, 'x-enumStatuses': statuses }
    const components = { ...document.components, schemas: { ...schemas, ErrorCode } }
    const message = new RegExp(`^openapi\\.yaml:\\d+:\\d+: ErrorCode: ${problem}$`)
    await t.rejects(contractOf({ ...document, components }), { name: 'ContractError', message })
  })
}

// Reads files from memory. The first is the contract.
function readFiles(files: Readonly<Record<string, string>>, readers: ExtensionReaders = {}) {
  const [first = ''] = Object.keys(files)
  const readText = async (file: string) => {
    const text = files[path.basename(file)]
    return text ?? Promise.reject(new Error(file))
  }
  return readContract(first, readText, readers)
}

const notContracts: [title: string, text: string, message: RegExp][] = [
  ['invalid YAML', 'openapi: 3.1.0\ninfo:\n  title: "Toys\n', /openapi\.yaml:\d+:\d+: /],
  ['nothing', '', /openapi\.yaml:1:1: the file must contain a mapping/],
  ['a comment', '# nothing yet\n', /openapi\.yaml:1:1: the file must contain a mapping/],
  ['a word', 'openapi\n', /openapi\.yaml:1:1: the file must contain a mapping/],
  ['a list', '- openapi\n', /openapi\.yaml:1:1: the file must contain a mapping/],
]
for (const [title, text, message] of notContracts) {
  t.test(`${title} is not a contract`, async (t) => {
    await t.rejects(readFiles({ 'openapi.yaml': text }), { name: 'ContractError', message })
  })
}

t.test('a missing contract file is named', async (t) => {
  const message = /cannot read the file .*none\.yaml/
  await t.rejects(readContract('/nowhere/none.yaml'), { name: 'ContractError', message })
})

t.test('a contract that is a URL, or the working folder, is told so', async (t) => {
  for (const [file, message] of [
    [
      'https://a.example/api.yaml',
      'https://a.example/api.yaml is a URL, which is not fetched: save it as a file',
    ],
    ['.', '.: . is no regular file, so it is not read'],
  ] as const)
    await t.rejects(readContract(file), { name: 'ContractError', message })
})

t.test('a $ref to a whole map is replaced by the map', async (t) => {
  const properties = { owner: { type: 'string' } }
  const headers = { 'X-Shelf': { schema: { type: 'string' } } }
  const components = {
    ...document.components,
    schemas: { ...schemas, Owner: { properties: { $ref: './owner.yaml#/properties' } } },
    headers: { $ref: './headers.yaml' },
  }
  const { document: read } = await readFiles({
    'openapi.yaml': stringify({ openapi: '3.1.0', ...document, components }),
    'owner.yaml': stringify({ properties }),
    'headers.yaml': stringify(headers),
  })
  t.match(read, { components: { schemas: { Owner: { properties } }, headers } })
})

// For example a JSON schema with references to its own parts, or a member in the form of SCIM (RFC 7643,
// section 4.2).
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
    const Spare = { type: 'object', ...added }
    const responses = {
      200: {
        description: 'Spare.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Spare' } } },
      },
    }
    const spare = { openapi: '3.1.0', info: document.info, paths: { '/spare': { get: { responses } } } }
    const textOf = (schemas: object) => stringify({ ...spare, components: { schemas } })
    const inOne = await readFiles({ 'openapi.yaml': textOf({ Spare }) })
    t.match(inOne.document, { components: { schemas: { Spare: added } } })
    const split = await readFiles({
      'openapi.yaml': textOf({ Spare, Other: { $ref: 'other.yaml' } }),
      'other.yaml': stringify(Spare),
    })
    t.match(split.document, { components: { schemas: { Spare: added, Other: added } } })
  })
}

// A value with a `$ref` to its own place, and with a keyword that would change types.
const selfAt = (place: string) => ({ $ref: `#/${place}`, readOnly: true })
const ofSchema = (keywords: object) => ({ components: { schemas: { S: keywords } } })
const ofLink = (fields: object) => ({ components: { links: { L: { operationId: 'get', ...fields } } } })
const inData: [place: string, document: object][] = [
  ['a default', ofSchema({ default: selfAt('components/schemas/S/default') })],
  ['a const', ofSchema({ const: selfAt('components/schemas/S/const') })],
  ['an enum', ofSchema({ enum: [selfAt('components/schemas/S/enum/0')] })],
  ['the example of a schema', ofSchema({ example: selfAt('components/schemas/S/example') })],
  ['the examples of a schema', ofSchema({ examples: [null, selfAt('components/schemas/S/examples/1')] })],
  ['an extension of a schema', ofSchema({ 'x-a': selfAt('components/schemas/S/x-a') })],
  ['an extension of the document', { 'x-a': selfAt('x-a') }],
  ['an extension of paths', { paths: { 'x-a': selfAt('paths/x-a') } }],
  [
    'an extension of responses',
    {
      paths: {
        '/a': {
          get: {
            operationId: 'get',
            responses: { 204: { description: 'None.' }, 'x-a': selfAt('paths/~1a/get/responses/x-a') },
          },
        },
      },
    },
  ],
  ['an example', { components: { examples: { E: { value: selfAt('components/examples/E/value') } } } }],
  [
    'an example of OpenAPI 3.2',
    { components: { examples: { E: { dataValue: selfAt('components/examples/E/dataValue') } } } },
  ],
  [
    'the example of a parameter',
    {
      components: {
        parameters: {
          P: { name: 'p', in: 'query', schema: {}, example: selfAt('components/parameters/P/example') },
        },
      },
    },
  ],
  [
    'the examples of a header',
    {
      components: {
        headers: {
          H: { schema: {}, examples: { e: { value: selfAt('components/headers/H/examples/e/value') } } },
        },
      },
    },
  ],
  ['a parameter of a link', ofLink({ parameters: { a: selfAt('components/links/L/parameters/a') } })],
  ['the body of a link', ofLink({ requestBody: selfAt('components/links/L/requestBody') })],
]

for (const [place, more] of inData) {
  t.test(`what looks like a schema that is itself is data in ${place}`, async (t) => {
    const paths = { '/': { get: { operationId: 'get', responses: { 204: { description: 'None.' } } } } }
    const { hasReadOrWriteOnly, document: read } = await contractOf({ paths, ...more })
    t.equal(hasReadOrWriteOnly, false)
    t.match(read, more)
  })
}

t.test('a property named like a keyword of data has a schema', async (t) => {
  for (const name of ['default', 'const', 'enum', 'example', 'examples', 'x-a', '$ref']) {
    const S = (schema: object) => ({
      paths: {},
      ...ofSchema({ type: 'object', properties: { [name]: schema } }),
    })
    const { hasReadOrWriteOnly } = await contractOf(S({ type: 'string', writeOnly: true }))
    t.equal(hasReadOrWriteOnly, true, name)
    const ref = `#/components/schemas/S/properties/${name}`
    await t.rejects(contractOf(S({ $ref: ref })), { message: `$ref ${ref} refers back to itself` }, name)
  }
})

t.test('a reference to an example that is one is no data', async (t) => {
  const ref = '#/components/examples/E'
  const examples = { paths: {}, components: { examples: { E: { $ref: ref } } } }
  await t.rejects(contractOf(examples), { message: `$ref ${ref} refers back to itself` })
})

t.test('a name of a response that begins with x- is a component', async (t) => {
  const ref = '#/components/responses/x-a'
  const responses = { paths: {}, components: { responses: { 'x-a': { $ref: ref } } } }
  await t.rejects(contractOf(responses), { message: `$ref ${ref} refers back to itself` })
})

t.test('in data, what names no file is data', async (t) => {
  const user = { $ref: 'users', $id: 7 }
  const S = { type: 'object', default: user, example: { $ref: 'example.json' } }
  const { document: read } = await readFiles({
    'openapi.yaml': stringify({ openapi: '3.1.0', info: document.info, paths: {}, ...ofSchema(S) }),
    'example.json': '{ "a": 1 }',
  })
  t.strictSame(read, {
    openapi: '3.1.0',
    info: document.info,
    paths: {},
    ...ofSchema({ ...S, example: { a: 1 } }),
  })
})

t.test('a file with only references is a map, whatever its names', async (t) => {
  const { document: read } = await readFiles({
    'openapi.yaml': stringify({
      openapi: '3.1.0',
      info: document.info,
      paths: {},
      components: { schemas: { $ref: 'schemas.yaml' } },
    }),
    'schemas.yaml': 'x-toy: { $ref: toy.yaml }\n',
    'toy.yaml': 'type: string\n',
  })
  t.match(read, { components: { schemas: { 'x-toy': { type: 'string' } } } })
})

// Schemas that extend each other in a long chain, or whose number of paths doubles with each link.
for (const [title, links, count] of [
  ['long', 1, rounds(3_000)],
  ['wide', 2, 40],
] as const) {
  t.test(`a ${title} chain of allOf is read for the values of a discriminator`, async (t) => {
    const ref = (i: number) => ({ $ref: `#/components/schemas/S${i}` })
    const chain = Array.from({ length: count }, (_, i) => [`S${i}`, { allOf: Array(links).fill(ref(i + 1)) }])
    const last = { type: 'object', properties: { kind: { const: 'a' } } }
    const oneOf = [ref(0), { type: 'object', properties: { kind: { const: 'b' } } }]
    const Any = { oneOf, discriminator: { propertyName: 'kind' } }
    const { document: read } = await contractOf({
      paths: {},
      components: { schemas: { Any, [`S${count}`]: last, ...Object.fromEntries(chain) } },
    })
    t.match(read, { components: { schemas: { Any: { discriminator: { mapping: { a: ref(0).$ref } } } } } })
  })
}

t.test(
  'an operation that several paths refer to is one of each, with an operationId of its own',
  async (t) => {
    const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } }
    const get = { operationId: 'getToy', parameters: [id], responses: { 204: { description: 'It.' } } }
    const {
      operations,
      warnings,
      document: read,
    } = await contractOf({
      paths: {
        '/toys/{id}': { $ref: '#/components/pathItems/Toy' },
        '/old/{id}': { $ref: '#/components/pathItems/Toy' },
        '/older/{id}': { $ref: '#/paths/~1old~1{id}' },
        '/oldest/{id}': { get: { $ref: '#/components/pathItems/Toy/get' } },
        '/other': { get: { operationId: 'getToy2', responses: get.responses } },
      },
      components: { pathItems: { Toy: { get } } },
    })
    t.strictSame(
      [...operations.values()].map((each) => [each.id, each.path, each.parameters.length]),
      [
        ['getToy', '/toys/{id}', 1],
        ['getToy3', '/old/{id}', 1],
        ['getToy4', '/older/{id}', 1],
        ['getToy5', '/oldest/{id}', 1],
        ['getToy2', '/other', 0],
      ],
    )
    const text = (path: string, other: string) =>
      `GET /${path}/{id} has the operationId of another path: the server uses ${other}`
    t.strictSame(
      warnings.map((each) => each.text),
      [text('old', 'getToy3'), text('older', 'getToy4'), text('oldest', 'getToy5')],
    )
    t.match(read, { paths: { '/old/{id}': { get: { ...get, operationId: 'getToy3' } } } })
  },
)

t.test('it is read from another file, too', async (t) => {
  const paths = { '/a': { $ref: 'toy.yaml' }, '/b': { $ref: 'toy.yaml' } }
  const { document: read } = await readFiles({
    'openapi.yaml': stringify({ openapi: '3.1.0', info: document.info, paths }),
    'toy.yaml': 'get: { operationId: getToy, responses: { 204: { description: It. } } }\n',
  })
  t.match(read, { paths: { '/b': { get: { operationId: 'getToy2' } } } })
})

t.test('two operations that are written out have no operationId in common', async (t) => {
  const get = { operationId: 'getToy', responses: { 204: { description: 'It.' } } }
  const paths = { '/a': { get }, '/b': { get: structuredClone(get) } }
  await t.rejects(contractOf({ paths }), { message: /two operations have the operationId getToy/ })
})

const doubled: [what: string, path: string, id: string, message: string][] = [
  ['operationId', '/b', 'a', 'two operations have the operationId a'],
  ['route', '/a/{c}', 'b', 'a and b are both GET /a/{c}'],
]
for (const [what, second, id, message] of doubled)
  t.test(`two operations of one ${what} are refused with both places`, async (t) => {
    const operation = (name: string) => `{ operationId: ${name}, responses: { 204: { description: A } } }`
    const text = `openapi: 3.1.0
info: { title: T, version: 1.0.0 }
paths:
  /a/{b}:
    get: ${operation('a')}
  ${second}:
    get: ${operation(id)}
`
    const line = `openapi.yaml:7:5: ${message}: the other is at openapi.yaml:5:5`
    await t.rejects(readFiles({ 'openapi.yaml': text }), { name: 'ContractError', message: line })
  })
