// Headers of a response that both the server and the handler set.

import { errorHandler, mount, RequestError } from 'contract-engine'
import { contractWith, done } from 'contract-testing/engine'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

const cookies = ['a=1; Expires=Thu, 05 Dec 2030 00:00:00 GMT', 'b=2']

/**
 * Returns the headers of a response: the server sets `first`, then the handler responds with `own`, or throws
 * it.
 */
async function headersOf(
  t: Test,
  first: Record<string, string>,
  own: Record<string, string | string[]>,
  isThrown = false,
) {
  const contract = await contractWith({ values: { method: 'get', responses: done } })
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.addHook('onRequest', async (_, reply) => void reply.headers(first))
  const values = async () => {
    if (isThrown) throw new RequestError('not_here', 'It is not here.', { headers: own as never })
    return { status: 204, headers: own }
  }
  await mount(app, { contract, handlers: { values } })
  const { headers, statusCode } = await app.inject('/values')
  t.equal(statusCode, isThrown ? 404 : 204)
  return headers
}

for (const isThrown of [false, true]) {
  const how = isThrown ? 'an error' : 'a handler'
  t.test(`a header of ${how} adds to a list that the server has set, whatever its case`, async (t) => {
    const headers = await headersOf(
      t,
      {
        Vary: 'Origin',
        link: '</a>; rel="successor-version"',
        Allow: 'GET',
        'Access-Control-Expose-Headers': 'Link, X-A',
        'WWW-Authenticate': 'Bearer realm="a, b"',
        'Server-Timing': 'auth;dur=1',
      },
      {
        vary: 'Accept-Language, origin',
        LINK: '</b,c>; rel="next"',
        allow: 'GET, PUT',
        'access-control-expose-headers': 'x-a, X-B',
        'www-authenticate': 'Basic realm="a"',
        'server-timing': 'db;dur=2',
      },
      isThrown,
    )
    t.match(headers, {
      vary: 'Origin, Accept-Language',
      link: '</a>; rel="successor-version", <http://localhost/b,c>; rel="next"',
      allow: 'GET, PUT',
      'access-control-expose-headers': 'Link, X-A, X-B',
      'www-authenticate': 'Bearer realm="a, b", Basic realm="a"',
      'server-timing': 'auth;dur=1, db;dur=2',
    })
  })

  t.test(`a header of ${how} replaces a setting of the server, and one that is no list`, async (t) => {
    const headers = await headersOf(
      t,
      { 'Cache-Control': 'no-store', 'Content-Security-Policy': "default-src 'none'", 'X-A': '1' },
      { 'cache-control': 'max-age=60', 'content-security-policy': "default-src 'self'", 'x-a': '2' },
      isThrown,
    )
    t.match(headers, {
      'cache-control': 'max-age=60',
      'content-security-policy': "default-src 'self'",
      'x-a': '2',
    })
  })
}

t.test('cookies of the server and of a handler are fields of their own', async (t) => {
  const headers = await headersOf(t, { 'Set-Cookie': 's=1' }, { 'set-cookie': cookies })
  t.strictSame(headers['set-cookie'], ['s=1', ...cookies])
})

t.test('several values of a list are sent as one field beside those of the server', async (t) => {
  t.equal(
    (await headersOf(t, { Vary: 'Origin' }, { Vary: ['Accept', 'Range'] })).vary,
    'Origin, Accept, Range',
  )
  t.strictSame((await headersOf(t, {}, { Vary: ['Accept', 'Range'] })).vary, ['Accept', 'Range'])
  const link = '<http://localhost/a>'
  t.equal((await headersOf(t, { Link: link }, { link: '</a>' })).link, link, 'none twice')
})
