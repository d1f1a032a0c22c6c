// Keys in the query of a request: only their check sees them.

import { type Contract, errorHandler, mount, notFoundHandler, Security } from 'contract-engine'
import { contractWith } from 'contract-testing/engine'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { selfReference, selfWith } from '../../../src/lib/relative-references.js'

const secret = 'sEcr3t'
const ok = { 200: { description: 'OK', content: { 'application/json': { schema: {} } } } }
const securitySchemes = {
  door: { type: 'apiKey', in: 'query', name: 'api_key' },
  gate: { type: 'apiKey', in: 'query', name: 'gate key' },
  token: { type: 'http', scheme: 'bearer' },
}
const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } }
const tags = {
  name: 'tags',
  in: 'query',
  explode: false,
  schema: { type: 'array', items: { type: 'string' } },
}
const own = { name: 'api_key', in: 'query', required: true, schema: { type: 'string' } }
const contract = await contractWith(
  {
    one: { method: 'get', security: [{ door: [] }], parameters: [limit], responses: ok },
    both: { method: 'get', security: [{ door: [], gate: [] }], parameters: [limit], responses: ok },
    styled: { method: 'get', security: [{ door: [] }], parameters: [limit, tags], responses: ok },
    declared: { method: 'get', security: [{ door: [] }], parameters: [limit, own], responses: ok },
    twice: { method: 'get', security: [{ door: [] }], parameters: [limit, own, tags], responses: ok },
    free: { method: 'get', security: [{ door: [] }, {}], parameters: [limit], responses: ok },
    open: { method: 'get', parameters: [limit], responses: ok },
    bearer: { method: 'get', security: [{ token: [] }], parameters: [limit], responses: ok },
  },
  { components: { securitySchemes } },
)

/** Starts a server; returns what a handler, a hook, a log and a link see of a request. */
async function start(t: Test, isAdmitted: boolean) {
  const seen: string[] = []
  const app = Fastify({ frameworkErrors: errorHandler(contract as Contract) })
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  const caller = (credential: string) => (credential === secret ? { scopes: new Set<string>() } : undefined)
  const security = new Security(contract, { door: { caller }, gate: { caller }, token: { caller } })
  // Like an application that authenticates requests before they reach their operation.
  if (isAdmitted)
    app.addHook('onRequest', async (request) => {
      await security.authenticate(request, request.routeOptions.config.operation)
    })
  app.addHook('onSend', async ({ url, originalUrl, raw, query }, reply, payload) => {
    seen.push(url, originalUrl, String(raw.url), JSON.stringify(query))
    seen.push(JSON.stringify(reply.getHeaders()), String(payload))
  })
  const handler = async ({ query }: { query: object }, { link }: { link: string }) => {
    return { status: 200, body: { query, link } }
  }
  const handlers = Object.fromEntries([...contract.operations.keys()].map((id) => [id, handler]))
  await mount(app, {
    ...{ contract, handlers, security },
    context: ({ url }) => ({ link: selfWith(url, selfReference(url), { after: 7 }) }),
  })
  t.teardown(() => app.close())
  const call = async (url: string, headers = {}) => {
    const { statusCode, body } = await app.inject({ url, headers })
    return [statusCode, JSON.parse(body)] as const
  }
  return { call, seen }
}

for (const isAdmitted of [false, true])
  for (const [title, url, status, expected] of [
    ['the only parameter', `/one?api_key=${secret}`, 200, { query: {}, link: 'one?after=7' }],
    [
      'beside others',
      `/one?limit=2&api_key=${secret}`,
      200,
      { query: { limit: 2 }, link: 'one?limit=2&after=7' },
    ],
    [
      'encoded',
      `/one?api%5Fkey=${secret}&limit=2`,
      200,
      { query: { limit: 2 }, link: 'one?limit=2&after=7' },
    ],
    ['two', `/both?gate+key=${secret}&api_key=${secret}`, 200, { query: {}, link: 'both?after=7' }],
    ['beside a list', `/styled?tags=a,b&api_key=${secret}`, 200, { query: { tags: ['a', 'b'] } }],
    ['of an optional scheme', `/free?api_key=${secret}`, 200, { query: {} }],
    ['of no scheme of the operation', `/open?api_key=${secret}`, 200, { query: {} }],
    ['beside another violation', `/one?limit=x&api_key=${secret}`, 400, { message: /^query\.limit must be/ }],
    ['beside an unknown parameter', `/one?limt=2&api_key=${secret}`, 400, { message: /limt/ }],
    ['of another scheme alone', `/bearer?api_key=${secret}`, 401, { code: 'missing_credentials' }],
    ['given twice', `/one?api_key=${secret}&api_key=${secret}`, 401, { code: 'invalid_credentials' }],
    ['that is wrong', `/one?api_key=${secret}2`, 401, { code: 'invalid_credentials' }],
    ['with invalid text', `/one?api_key=${secret}%FF`, 401, { code: 'invalid_credentials' }],
    ['one of two', `/both?api_key=${secret}`, 401, { code: 'missing_credentials' }],
  ] as const)
    t.test(
      `a key ${title} is in no URL, link or response${isAdmitted ? ', if admitted before' : ''}`,
      async (t) => {
        const { call, seen } = await start(t, isAdmitted)
        t.match(await call(url), [status, expected])
        t.equal(seen.length, 6)
        t.notMatch(seen.join('\n'), secret)
      },
    )

t.test('a parameter that is a key, too, reaches its handler, and no link', async (t) => {
  const { call, seen } = await start(t, true)
  for (const [path, query] of [
    ['declared', { limit: 1, api_key: secret }],
    ['twice', { limit: 1, api_key: secret, tags: ['a'] }],
  ] as const) {
    const sent = `/${path}?limit=1&api_key=${secret}${path === 'twice' ? '&tags=a' : ''}`
    t.match(await call(sent), [200, { query }])
  }
  const urls = seen.filter((each) => each.startsWith('/'))
  t.equal(urls.length, 6)
  t.notMatch(urls.join('\n'), secret)
})

t.test('a path or a method that the contract does not have copies no key', async (t) => {
  const { call, seen } = await start(t, true)
  t.match(await call(`/none?api_key=${secret}`), [404, { code: 'route_not_found' }])
  t.notMatch(seen.join('\n'), secret)
})
