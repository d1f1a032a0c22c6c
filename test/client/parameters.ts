// Parameters of every style, sent by the client and received by the service.

import path from 'node:path'
import { clientTable } from 'contract-client/generate'
import { buildClient } from 'contract-client/internal/client'
import { writeParameters } from 'contract-client/internal/parameters'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import t from 'tap'
import { parseDocument } from 'yaml'
import { handlers } from '../../generated/handlers.js'
import type { Handlers } from '../../src/handlers/handler.js'
import { contractText, startService } from '../fixtures/service.js'

const id = 9223372036854775807n
const list = [',', '.', ';', '|a', '/b', 'ü%2C', '=&']
const object = { n: id, 'a,b': '=.;&', c: '%2C ü' }
const schemas = {
  text: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
  ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
  object: {
    type: 'object',
    required: ['n'],
    properties: { n: { type: 'integer', format: 'int64' } },
    additionalProperties: { type: 'string' },
  },
}
const plainList = ['a', 'b c']
const plainObject = { n: id, name: 'x y' }
const json = { content: { 'application/json': { schema: { type: 'object' } } } }

const forms: [location: string, form: object, shape: keyof typeof schemas, value: unknown][] = [
  ['query', {}, 'list', list],
  ['query', {}, 'list', ['']],
  ['query', { explode: false }, 'list', list],
  ['query', { explode: false }, 'ids', [id, 1n]],
  ['query', {}, 'object', object],
  ['query', { explode: false }, 'object', object],
  ['query', { style: 'spaceDelimited' }, 'list', ['a', 'b,c']],
  ['query', { style: 'pipeDelimited' }, 'object', plainObject],
  ['query', { style: 'deepObject' }, 'object', object],
  ['query', json, 'object', { a: ['ü', { b: '&' }] }],
  ['query', { allowReserved: true }, 'text', '/?:@+&%'],
  ['path', {}, 'list', list],
  ['path', {}, 'object', object],
  ['path', { explode: true }, 'object', object],
  ['path', { style: 'label' }, 'text', 'a.b/c'],
  ['path', { style: 'label' }, 'list', list],
  ['path', { style: 'label', explode: true }, 'list', ['a.b', 'c']],
  ['path', { style: 'label', explode: true }, 'object', object],
  ['path', { style: 'matrix' }, 'text', 'a;b/c'],
  ['path', { style: 'matrix' }, 'list', list],
  ['path', { style: 'matrix', explode: true }, 'list', list],
  ['path', { style: 'matrix' }, 'object', object],
  ['path', { style: 'matrix', explode: true }, 'object', object],
  ['path', json, 'object', { a: ['ü', { b: '/' }] }],
  ['header', {}, 'ids', [id, 1n]],
  ['header', {}, 'object', plainObject],
  ['header', { explode: true }, 'object', plainObject],
  ['header', json, 'object', { a: ['ü', { b: ',' }] }],
  ['cookie', {}, 'text', 'a; b=ü'],
  ['cookie', { explode: false }, 'list', list],
  ['cookie', { explode: false }, 'object', object],
  ['cookie', json, 'object', { a: ['ü', { b: ';' }] }],
  ['cookie', { explode: false }, 'list', plainList],
]

const parts = { path: 'params', query: 'query', header: 'headers', cookie: 'cookies' } as const

t.test('parameters reach the handler unchanged', async (t) => {
  const document = parseDocument(contractText)
  for (const [index, [location, form, shape]] of forms.entries()) {
    const schema = 'content' in form ? {} : { schema: schemas[shape] }
    const get = {
      operationId: `take${index}`,
      parameters: [{ name: 'p', in: location, required: true, ...schema, ...form }],
      responses: {
        '204': { description: 'Done.' },
        default: { $ref: '#/components/responses/UnexpectedError' },
      },
    }
    const path = `/take${index}${location === 'path' ? '/{p}' : ''}`
    document.setIn(['paths', path], document.createNode({ get }))
  }
  const file = path.join(temporaryDirectory(t, { 'openapi.yaml': document.toString() }), 'openapi.yaml')
  const wider = await readServiceContract(file)
  const requests: Record<string, Record<string, unknown>>[] = []
  const take = async (request: (typeof requests)[number]) => {
    requests.push(request)
    return { status: 204 }
  }
  const { base, key } = await startService(t, {
    contract: wider,
    // The generated types do not include these operations.
    handlers: {
      ...handlers,
      ...Object.fromEntries(forms.map((_, index) => [`take${index}`, take])),
    } as unknown as Handlers,
  })
  const { operations } = buildClient(clientTable(wider), { baseUrl: base, key })
  for (const [index, [location, form, shape, value]] of forms.entries()) {
    t.test(`${location} ${JSON.stringify(form)}: ${shape}`, async (t) => {
      await operations[`take${index}`]?.({ [location]: { p: value } })
      const taken = requests.pop()?.[parts[location as keyof typeof parts]]?.p
      // Parsed objects have no prototype.
      const isObject = typeof taken === 'object' && !Array.isArray(taken)
      t.same(isObject ? { ...taken } : taken, value)
    })
  }
})

// Values that would make the URL another operation's: DELETE /toys/{id} without an id is DELETE /toys.
const misleading: [value: unknown, style?: string | undefined, explode?: boolean][] = [
  ...[undefined, null, '', [], {}, [undefined], [''], { a: undefined }].flatMap(
    (value): [unknown, string | undefined][] =>
      [undefined, 'simple', 'label', 'matrix'].map((style) => [value, style]),
  ),
  ...['.', '..', '%2e', '%2E%2e', '.%2e', ['..']].flatMap((value): [unknown, string | undefined][] =>
    [undefined, 'simple', 'label', 'matrix'].map((style) => [value, style]),
  ),
  [['', '', ''], 'label', true],
  [undefined, 'json'],
  [null, 'json'],
]
for (const [value, style, explode = false] of misleading) {
  t.test(`the path parameter ${JSON.stringify(value)} is refused in the style ${style}`, async (t) => {
    const parameters = style === undefined ? [] : [{ name: 'p', in: 'path', form: { style, explode } }]
    const write = () =>
      writeParameters({ path: '/toys/{p}', parameters, schemas: {} }, { path: { p: value } })
    t.throws(write, { name: 'TypeError', message: /^the path / })
  })
}

t.test('a path parameter with dots among other characters is written', async (t) => {
  const written = (value: unknown) =>
    writeParameters({ path: '/toys/{p}.{q}', schemas: {} }, { path: { p: value, q: 'x' } }).target
  for (const value of ['...', '.a', 'a..b', 0, false, 0n]) t.equal(written(value), `/toys/${value}.x`)
  t.throws(() => writeParameters({ path: '/toys/{toString}', schemas: {} }, { path: {} }), TypeError)
})
