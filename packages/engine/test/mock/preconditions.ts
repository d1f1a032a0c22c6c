// Entity tags and If-Match in a mock, as in a service.

import type { InjectOptions } from 'fastify'
import t from 'tap'
import { anError, mocked } from '../fixtures/mocked.js'

const text = { schema: { type: 'string' } }
const content = {
  'application/json': { schema: { type: 'object', properties: { name: { type: 'string' } } } },
}
const tagged = (etag: object = text) => ({ description: 'It.', headers: { ETag: etag }, content })
const ifMatch = { name: 'If-Match', in: 'header', schema: { type: 'string' } }

const item = (get: object, patch: object, parameters: readonly object[] = [ifMatch]) => ({
  get: { operationId: `get${++count}`, responses: { default: anError, ...get } },
  patch: { operationId: `patch${count}`, parameters, responses: { default: anError, ...patch } },
})
let count = 0

const document = {
  paths: {
    '/plain': item({ 200: tagged() }, { 200: tagged(), 412: anError, 428: anError }),
    '/conditional': item({ 200: tagged(), 304: { description: 'Same.' } }, { 200: tagged(), 412: anError }),
    '/example': item({ 200: tagged({ ...text, example: 'abc' }) }, { 200: { description: 'It.', content } }),
    '/pattern': item(
      { 200: tagged({ schema: { type: 'string', pattern: '^"v\\d+"$' } }) },
      { 200: tagged() },
    ),
    '/untagged': item({ 200: { description: 'It.', content } }, { 200: tagged(), 412: anError }),
    '/free': item({ 200: tagged() }, { 200: tagged(), 428: anError }, []),
    '/key': {
      get: {
        operationId: 'getKey',
        security: [{ key: [] }],
        responses: { 200: tagged(), 304: { description: 'Same.' }, default: anError },
      },
      delete: {
        operationId: 'deleteKey',
        security: [{ key: [] }],
        parameters: [ifMatch],
        responses: { 204: { description: 'Gone.' }, 412: anError, 428: anError, default: anError },
      },
    },
  },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'key' } } },
}

const isTag = /^"[!\x23-\x7e]*"$/

t.test('an entity tag is one', async (t) => {
  const app = await mocked(t, document)
  for (const url of Object.keys(document.paths).filter((each) => !/untagged|key/.test(each)))
    t.match((await app.inject(url)).headers.etag, isTag, url)
  t.match((await app.inject('/pattern')).headers.etag, /^"v\d+"$/)
  t.match((await app.inject({ method: 'PATCH', url: '/untagged' })).headers.etag, isTag)
})

t.test('a change has the tag of what is read, and needs it where the contract says so', async (t) => {
  const app = await mocked(t, document)
  const change = (url: string, tag?: string, more: InjectOptions = {}) =>
    app.inject({ method: 'PATCH', url, headers: tag === undefined ? {} : { 'if-match': tag }, ...more })
  for (const url of ['/plain', '/conditional']) {
    const etag = String((await app.inject(url)).headers.etag)
    t.match(await change(url, etag), { statusCode: 200, headers: { etag } }, url)
    t.match(await change(url, `"other", ${etag}`), { statusCode: 200 })
    t.match(await change(url, '*'), { statusCode: 200 })
    t.match(await change(url, '"other"'), { statusCode: 412 })
    t.match((await change(url, '"other"')).json(), { code: 'precondition_failed', status: 412 })
    t.match(await change(url, `W/${etag}`), { statusCode: 412 }, 'compared strongly')
  }
  t.match((await change('/plain')).json(), { code: 'precondition_required', status: 428 })
  t.match(await change('/plain', undefined, { headers: { prefer: 'code=200' } }), { statusCode: 428 })
  t.match(await change('/conditional'), { statusCode: 200 }, 'without a 428')
  t.match(await change('/untagged', '"any"'), { statusCode: 200 }, 'of what has no tag')
  t.match(await change('/free'), { statusCode: 200 }, 'without If-Match in the contract')
})

t.test('what was created has the tag of its own path, not of the list', async (t) => {
  const list = {
    description: 'All.',
    headers: { ETag: text },
    content: { 'application/json': { schema: {} } },
  }
  const paths = {
    '/pets': {
      get: { operationId: 'list', responses: { 200: list, default: anError } },
      post: { operationId: 'add', responses: { 201: tagged(), default: anError } },
    },
    '/pets/{id}': {
      get: {
        operationId: 'get',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: tagged(), default: anError },
      },
    },
  }
  const app = await mocked(t, { paths })
  const { etag } = (await app.inject({ method: 'POST', url: '/pets' })).headers
  t.equal(etag, (await app.inject('/pets/1')).headers.etag)
  t.not(etag, (await app.inject('/pets')).headers.etag)
})

t.test('what is unchanged is 304, and a key in the query is kept for the comparison', async (t) => {
  const app = await mocked(t, document)
  const { etag } = (await app.inject('/key?key=any')).headers
  t.equal(
    (await app.inject({ url: '/key?key=any', headers: { 'if-none-match': String(etag) } })).statusCode,
    304,
  )
  const remove = (tag: string) =>
    app.inject({ method: 'DELETE', url: '/key?key=any', headers: { 'if-match': tag } })
  t.equal((await remove('"other"')).statusCode, 412)
  t.equal((await remove(String(etag))).statusCode, 204)
})
