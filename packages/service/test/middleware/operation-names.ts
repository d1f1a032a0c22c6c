// The names of operations in metrics and in stored answers.

import { type Contract, mount } from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import Fastify, { type RouteOptions } from 'fastify'
import t from 'tap'
import { nameOperations } from '../../src/middleware/operation-names.js'

function contractAt(url: string, title: string, path: string, version = '1.0.0'): Promise<Contract> {
  const responses = { 204: { description: 'Done.' } }
  const get = { operationId: 'getPet', responses }
  return contractOf({ info: { title, version }, servers: [{ url }], paths: { [path]: { get } } })
}

t.test('the first contract has the ids, each further one a word before them that no other has', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const own = await contractAt('/v1', 'Store', '/pets')
  nameOperations(app, own)
  const names: Record<string, string | undefined> = {}
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    names[`${method} ${url}`] = config?.operationName
  })
  app.get('/healthz', async () => 'ok')
  for (const contract of [
    own,
    await contractAt('/v2', 'Store', '/pets'),
    await contractAt('/v1', 'Admin', '/staff'),
    await contractAt('/', 'Admin', '/root'),
    await contractAt('/', 'Admin', '/other', '2.0.0'),
  ])
    await mount(app, { contract, handlers: { getPet: async () => ({ status: 204 }) } })
  await app.register(
    async (scope) => {
      const contract = await contractAt('/v2', 'Store', '/pets')
      await mount(scope, { contract, handlers: { getPet: async () => ({ status: 204 }) } })
    },
    { prefix: '/partners' },
  )
  await app.ready()
  t.strictSame(names, {
    ...routes('/healthz', undefined),
    ...routes('/v1/pets', undefined),
    ...routes('/v2/pets', '/v2 getPet'),
    ...routes('/v1/staff', 'Admin getPet'),
    ...routes('/root', 'Admin 1.0.0 getPet'),
    ...routes('/other', 'Admin 2.0.0 getPet'),
    ...routes('/partners/v2/pets', '/partners/v2 getPet'),
  })
})

function routes(url: string, name: string | undefined) {
  return { [`GET ${url}`]: name, [`HEAD ${url}`]: name }
}
