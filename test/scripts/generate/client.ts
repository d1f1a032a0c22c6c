import { readFileSync } from 'node:fs'
import path from 'node:path'
import { clientTable, credentialsExample, generateClient } from 'contract-client/generate'
import type { ClientOperation } from 'contract-client/internal/table'
import type { Contract } from 'contract-engine'
import { generateOperations, notationOf } from 'contract-engine/generate'
import { toContract } from 'contract-engine/tools'
import { operationExtensions } from 'contract-service/internal/auth/plans'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'

const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }

// Returns the client's operations, by name, for a contract with these POSTs.
function operationsOf(...operations: object[]): Readonly<Record<string, ClientOperation>> {
  return clientTable(contractOf(...operations)).operations
}

function contractOf(...operations: object[]): Contract {
  const paths = Object.fromEntries(operations.map((post, i) => [`/${i}`, { post }]))
  const document = { openapi: '3.1.0', info: { title: 'Post', version: '1.0.0' }, paths }
  return toContract({ document, text: '' }, {}, operationExtensions).contract
}

// Only the mark promises that the server does it once: with the header alone, a retry could take effect
// twice.
for (const isIdempotent of [true, false]) {
  t.test(
    `the client ${isIdempotent ? 'repeats' : 'does not repeat'} a POST that is ${isIdempotent ? '' : 'not '}x-idempotent`,
    async (t) => {
      const post = { operationId: 'x', parameters: [key], responses: {}, 'x-idempotent': isIdempotent }
      t.equal(operationsOf(post).x?.idempotent === true, isIdempotent)
    },
  )
}

t.test('the client knows what a costly operation takes of a quota', async (t) => {
  const operations = operationsOf(
    { operationId: 'x', responses: {}, 'x-rate-cost': 10 },
    { operationId: 'y', responses: {}, 'x-rate-cost': 1 },
  )
  t.strictSame([operations.x?.cost, operations.y?.cost], [10, undefined])
})

const number = (type: string) => ({ content: { [type]: { schema: { type: 'integer', format: 'int64' } } } })
const int64 = number('application/json')
const json = { 'application/json': 'int64' }
const answers: [title: string, responses: object, numbers: object | undefined][] = [
  ['a class and all others', { '2XX': int64, default: int64 }, { '2xx': json, default: json }],
  ['a status and all others', { '404': int64, default: int64 }, { '404': json, default: json }],
  ['all others', { '200': {}, '404': {}, default: int64 }, { '200': {}, '404': {}, default: json }],
  [
    'a status, and a class with a status that has none',
    { '200': int64, '4XX': int64, '404': {} },
    { '200': json, '404': {}, '4xx': json },
  ],
  ['all others but a status without a body', { '204': {}, default: int64 }, { '204': {}, default: json }],
  ['no response', { '204': {}, default: {} }, undefined],
  [
    'one of several media types',
    {
      '200': { content: { 'application/json': { schema: {} }, ...number('Application/A+JSON;v=1').content } },
    },
    { '200': { 'application/json': null, 'application/a+json': 'int64' } },
  ],
]
for (const [title, responses, numbers] of answers) {
  t.test(`int64 are found in the responses of ${title}`, async (t) => {
    t.strictSame(operationsOf({ operationId: 'x', responses }).x?.numbers, numbers)
  })
}

t.test('the declared errors are known, with their media types where those are not only JSON', async (t) => {
  const text = { content: { 'text/plain': { schema: { type: 'string' } } } }
  const problem = {
    content: { 'application/problem+json': { schema: { type: 'object', required: ['title'] } } },
  }
  const of = (responses: object) => {
    const { errors, contents } = operationsOf({ operationId: 'x', responses }).x ?? {}
    return { errors, contents }
  }
  t.strictSame(of({ 200: problem }), { errors: undefined, contents: undefined })
  t.strictSame(of({ 200: problem, 409: problem, 412: {} }), {
    errors: { 409: { 'application/problem+json': ['title'] }, 412: {} },
    contents: { 412: {} },
  })
  t.strictSame(of({ 204: {}, 409: problem, default: text }), {
    errors: { 409: { 'application/problem+json': ['title'] }, default: { 'text/plain': [] } },
    contents: { 204: {}, 409: { 'application/problem+json': 'json' }, default: { 'text/plain': 'text' } },
  })
})

const named: [title: string, ids: readonly string[], names: readonly string[]][] = [
  [
    'no name that the client has already',
    ['items', 'then', 'constructor', '__proto__'],
    ['__proto__Operation', 'constructorOperation', 'itemsOperation', 'thenOperation'],
  ],
  [
    'the name that its id is, or that its module has',
    ['find-pet', 'then!', 'delete', 'größe', 'find_2'],
    ['delete', 'findPet', 'find_2', 'größe', 'thenOperation'],
  ],
]
for (const [title, ids, names] of named) {
  t.test(`an operation has ${title}`, async (t) => {
    const operations = operationsOf(...ids.map((operationId) => ({ operationId, responses: {} })))
    t.strictSame(Object.keys(operations).sort(), names)
  })
}

const pet = { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } }
const petPlace = { properties: { id: 'int64' } }
const petJson = { type: 'string', contentMediaType: 'application/json', contentSchema: pet }
const eventOf = (data: object, others = {}) => ({ required: ['data'], properties: { data, ...others } })
const streams: [title: string, content: object, entry: object, withLimit?: object][] = [
  [
    'lines of JSON',
    { 'application/x-ndjson': { itemSchema: pet } },
    { 'application/x-ndjson': { framing: 'lines', numbers: petPlace } },
    { 'application/x-ndjson': { framing: 'lines', keepAliveMs: 7, numbers: petPlace } },
  ],
  [
    'lines of JSON of which none may be empty',
    { 'application/jsonl': { itemSchema: {} } },
    { 'application/jsonl': { framing: 'lines' } },
  ],
  [
    'a sequence of JSON, and of any JSON',
    { 'application/json-seq': { itemSchema: {} }, 'application/geo+json-seq': { itemSchema: pet } },
    {
      'application/json-seq': { framing: 'sequence', keepAliveMs: 15_000 },
      'application/geo+json-seq': { framing: 'sequence', keepAliveMs: 15_000, numbers: petPlace },
    },
  ],
  [
    'events of JSON',
    { 'text/event-stream': { itemSchema: eventOf(petJson) } },
    { 'text/event-stream': { framing: 'sse', keepAliveMs: 15_000, numbers: petPlace } },
  ],
  [
    'events of text',
    { 'text/event-stream': { itemSchema: eventOf({ type: 'string' }) } },
    { 'text/event-stream': { framing: 'sse', keepAliveMs: 15_000, texts: [{}] } },
  ],
  [
    'events of JSON, of text with a name, and with a last one',
    {
      'text/event-stream': {
        itemSchema: {
          oneOf: [
            eventOf(petJson, { event: { const: 'added' } }),
            eventOf({ type: 'string' }, { event: { enum: ['note', 'end'] } }),
            eventOf({ const: '[DONE]' }),
          ],
        },
      },
    },
    {
      'text/event-stream': {
        framing: 'sse',
        keepAliveMs: 15_000,
        numbers: petPlace,
        texts: [{ events: ['note', 'end'] }, { texts: ['[DONE]'] }],
      },
    },
  ],
]
for (const [title, content, entry, withLimit = entry] of streams) {
  t.test(`the client knows a stream of ${title}`, async (t) => {
    const responses = { 200: { content }, 204: {} }
    const { x } = operationsOf({ operationId: 'x', responses })
    const slow = operationsOf({ operationId: 'x', responses, 'x-limits': { keepAliveMs: 7 } }).x
    const written = JSON.stringify({ 200: withLimit }).replaceAll('15000', '7')
    t.equal(JSON.stringify(slow?.streams), written, 'as often as x-limits say')
    t.strictSame(x?.streams, { 200: entry })
    t.equal(x?.isStream, true)
    const kinds = Object.keys(content).map((type) => [type, 'stream'] as const)
    t.strictSame(x?.contents, { 200: Object.fromEntries(kinds), 204: {} })
  })
}

t.test('a call resolves with default only where the server may return it as a success', async (t) => {
  const stream = { content: { 'application/x-ndjson': { itemSchema: pet } } }
  const only = operationsOf({ operationId: 'x', responses: { default: stream } }).x
  t.equal(only?.isStream, true)
  t.strictSame(Object.keys(only?.streams ?? {}), ['default'])
  const text = { content: { 'text/plain': {} } }
  const callOf = (responses: object) => {
    const contract = contractOf({ operationId: 'x', responses })
    return /readonly x: (.*)/.exec(generateClient(contract))?.[1]
  }
  t.equal(callOf({ default: text }), 'Call<XRequest, string>')
  for (const status of ['204', '2XX'])
    t.equal(callOf({ [status]: {}, default: text }), 'Call<XRequest, undefined>')
  t.equal(
    callOf({ 303: {}, default: text }),
    'Call<XRequest, unknown>',
    'beside a redirection, it is an error',
  )
})

t.test('a stream beside another body, and one that is an error, have to be asked for', async (t) => {
  const content = { 'application/x-ndjson': { itemSchema: pet } }
  const both = { content: { ...content, 'application/json': { schema: pet } } }
  t.equal(operationsOf({ operationId: 'x', responses: { 200: both } }).x?.isStream, undefined)
  const error = { operationId: 'x', responses: { 200: { content }, 400: { content } } }
  t.strictSame(Object.keys(operationsOf(error).x?.streams ?? {}), ['200'])
})

const session = {
  openapi: '3.1.0',
  info: { title: 'Named', version: '1.0.0' },
  paths: {
    '/sessions': {
      post: {
        operationId: 'signIn',
        security: [{ staff: [] }],
        'x-limits': { bodyBytes: 2_000_000 },
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Credentials' } } },
        },
        responses: {
          '200': { description: 'It.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
          '4XX': { description: 'No.' },
        },
      },
      put: {
        operationId: 'upload',
        'x-limits': { bodyBytes: 2_000_000 },
        requestBody: { content: { 'application/pdf': {} } },
        responses: { '204': { description: 'Done.' } },
      },
    },
  },
  components: {
    securitySchemes: { staff: { type: 'http', scheme: 'basic' } },
    schemas: { Credentials: { type: 'object', properties: { user: { type: 'string' } } } },
  },
}

t.test(
  'generated modules import what they name, and no schema takes the name of a type of theirs',
  async (t) => {
    const { contract } = toContract({ document: session, text: '' }, {}, operationExtensions)
    const types = 'export type Credentials = { user?: string };\n'
    const client = generateClient(contract, types)
    t.match(client, /^import type \{ .*UsernamePassword.* \} from 'contract-client'$/m)
    t.match(client, /readonly staff\?: UsernamePassword/)
    for (const text of [client, generateOperations(contract, types)]) {
      const imported = [...text.matchAll(/^import type \{ (.*) \} from '(?!.\/types)/gm)].flatMap(
        ([, all = '']) => all.split(', ').map((each) => each.replace(/.* as /, '')),
      )
      const own = [...text.matchAll(/^(?:export )?(?:type|interface) (\w+)/gm)].map(([, name = '']) => name)
      const names = [...imported, ...own].filter((name) => !/^(SignIn|Upload)Request$/.test(name))
      t.ok(names.length > 8)
      const schemas = names.map((name) => `export type ${name} = 1;\n`).join('')
      t.strictSame([...notationOf(contract, schemas).names], [])
    }
  },
)

t.test('an example gives each scheme its credential', async (t) => {
  const bearer = { type: 'http', scheme: 'bearer' }
  const exampleWith = (securitySchemes: object, security: object[]) => {
    const document = { ...session, security, components: { ...session.components, securitySchemes } }
    const paths = { '/a': { get: { operationId: 'a', responses: {} } } }
    return credentialsExample(toContract({ document: { ...document, paths }, text: '' }, {}).contract)
  }
  const { staff } = session.components.securitySchemes
  t.equal(exampleWith({}, []), '')
  t.equal(exampleWith({ key: bearer }, [{ key: [] }]), "key: '…'")
  t.equal(exampleWith({ staff }, [{ staff: [] }]), "security: { staff: { username: '…', password: '…' } }")
  t.equal(
    exampleWith({ 'a-key': bearer, staff }, [{ 'a-key': [], staff: [] }]),
    "security: { \"a-key\": '…', staff: { username: '…', password: '…' } }",
  )
})

t.test('the module of each client is that of this one', async (t) => {
  const [template, own] = ['packages/client/template', 'src/client'].map((folder) =>
    readFileSync(path.join(projectRoot, folder, 'index.ts'), 'utf8').replace(/^\/\/.*\n\/\/.*\n/, ''),
  )
  t.equal(template, own?.replaceAll("'../../generated/", "'./"))
})
