// Operations whose servers have another path than the document's.

import { errorHandler, mount, notFoundHandler, operationAt } from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import Fastify from 'fastify'
import t from 'tap'
import { pageDocument } from '../../../src/compile/documents/page-document.js'
import { plainTextOf } from '../../../src/compile/documents/plain-text.js'

const done = { 204: { description: 'None.' } }
const moved = { 204: { description: 'None.', headers: { Location: { schema: { type: 'string' } } } } }
const document = {
  servers: [{ url: 'https://toys.example/v1' }],
  paths: {
    '/toys': { get: { operationId: 'listToys', responses: moved } },
    '/heartbeat': { servers: [{ url: '/' }], get: { operationId: 'beat', responses: moved } },
    '/toys/{id}': {
      servers: [{ url: 'https://toys.example/v1' }],
      get: {
        operationId: 'oldToy',
        servers: [
          { url: 'https://{host}/{base}/', variables: { host: { default: 'a' }, base: { default: 'v0' } } },
        ],
        deprecated: true,
        'x-deprecated-at': '2026-11-20',
        'x-successor': 'listToys',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: done,
      },
      delete: { operationId: 'endToy', responses: done, servers: [] },
    },
  },
}

t.test('an operation is under the path of its own servers', async (t) => {
  const { operations, prefix, warnings } = await contractOf(document)
  t.equal(prefix, '/v1')
  t.strictSame(
    [...operations.values()].map(({ id, prefix }) => [id, prefix]),
    [
      ['listToys', '/v1'],
      ['beat', ''],
      ['oldToy', '/v0'],
      ['endToy', '/v1'],
    ],
  )
  t.match(
    warnings.map(({ text }) => text),
    ['DELETE /toys/{id}: the path parameter id is not declared: it is read as a string'],
  )
})

t.test('of several paths the first counts, with a warning', async (t) => {
  const servers = [{ url: '/a' }, { url: 'https://a.example/a/' }, { url: '/' }, { url: '/b' }]
  const paths = { '/toys': { get: { operationId: 'listToys', servers, responses: done } } }
  const { operations, warnings } = await contractOf({ paths })
  t.equal(operations.get('listToys')?.prefix, '/a')
  t.match(warnings, [
    {
      text: 'GET /toys: the path /, /b of its servers is ignored: it is served under /a, the path of the first',
    },
  ])
})

t.test('two operations of one URL are refused, whatever of it is the path of their servers', async (t) => {
  const get = (operationId: string, url: string) => ({
    get: { operationId, servers: [{ url }], responses: done },
  })
  const paths = { '/v1/toys': get('all', '/'), '/toys': get('some', 'https://a.example/v1') }
  await t.rejects(contractOf({ paths }), {
    message: /: all and some are both GET \/toys: the other is at \S+:7:5$/,
  })
})

async function start(publicUrl?: string) {
  const contract = await contractOf(document)
  const app = Fastify({ frameworkErrors: errorHandler(contract) })
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  const moves = async () => ({ status: 204, headers: { Location: 'toys' } })
  const handlers = { listToys: moves, beat: moves, oldToy: async () => ({ status: 204 }), endToy: moves }
  await mount(app, { contract, handlers, ...(publicUrl && { address: { publicUrl } }) })
  return async (method: 'GET' | 'POST' | 'DELETE', url: string) => {
    const { statusCode, headers } = await app.inject({ method, url, headers: { host: 'a.example' } })
    return [statusCode, headers.location ?? headers.link ?? headers.allow]
  }
}

t.test('it is served there alone, and its links lead from there', async (t) => {
  const call = await start()
  t.strictSame(await call('GET', '/v1/toys'), [204, 'http://a.example/v1/toys'])
  t.strictSame(await call('GET', '/heartbeat'), [204, 'http://a.example/toys'])
  t.strictSame(await call('GET', '/v0/toys/7'), [204, '<http://a.example/v1/toys>; rel="successor-version"'])
  for (const path of ['/toys', '/v1/heartbeat', '/v0/toys'])
    t.strictSame(await call('GET', path), [404, undefined])
  t.strictSame(await call('POST', '/heartbeat'), [405, 'GET, HEAD'])
  t.strictSame(await call('DELETE', '/v0/toys/7'), [405, 'GET, HEAD'])
})

t.test('behind a public URL, too', async (t) => {
  const call = await start('https://shop.example/api/v1')
  t.strictSame(await call('GET', '/v1/toys'), [204, 'https://shop.example/api/v1/toys'])
  t.strictSame(await call('GET', '/heartbeat'), [204, 'https://shop.example/api/toys'])
  const link = '<https://shop.example/api/v1/toys>; rel="successor-version"'
  t.strictSame(await call('GET', '/v0/toys/7'), [204, link])
})

t.test('the documentation tells where it is', async (t) => {
  const contract = await contractOf(document)
  t.equal(operationAt('/heartbeat', contract)?.id, 'beat')
  t.equal(operationAt('/v1/heartbeat', contract), undefined)
  t.match(
    plainTextOf(contract, {}),
    '### GET /heartbeat\n\n`beat`. Security: none.\n\nNot below the base address, but at the root of its server: `/heartbeat`.',
  )
  const { paths } = JSON.parse(pageDocument(contract, {}))
  t.match(paths['/heartbeat'].get.servers, [{ url: '.' }])
  t.match(paths['/toys/{id}'].get.servers, [{ url: './v0' }])
  t.equal(paths['/toys'].get.servers, undefined)
})
