// The links of a mock lead to itself, and a list comes to its end.

import t, { type Test } from 'tap'
import { linksIn } from '../../src/mock/links.js'
import { anError, mocked } from '../fixtures/mocked.js'

const integer = { type: 'integer', format: 'int64' }
const Thing = { type: 'object', required: ['id'], properties: { id: { ...integer, example: 2n ** 60n } } }
const content = (schema: object) => ({ 'application/json': { schema } })
const query = (name: string, schema: object = { type: 'string' }) => ({ name, in: 'query', schema })
const id = { name: 'id', in: 'path', required: true, schema: integer }

interface List {
  readonly parameters?: readonly object[]
  readonly link?: object
}
const shared = { $ref: '#/components/headers/Next' }
const text = { schema: { type: 'string' } }

function listOf(
  operationId: string,
  { parameters = [query('after'), query('limit')], link = shared }: List = {},
) {
  const headers = { Link: link }
  const schema = { type: 'array', minItems: 1, items: Thing, example: [{ id: 1 }, { id: 2 }, { id: 3 }] }
  return {
    operationId,
    parameters,
    responses: { 200: { description: 'All.', headers, content: content(schema) }, default: anError },
  }
}

const created = (
  operationId: string,
  schema: object = Thing,
  location: object = { $ref: '#/components/headers/At' },
) => ({
  operationId,
  responses: {
    201: { description: 'It.', headers: { Location: location }, content: content(schema) },
    default: anError,
  },
})
const got = (operationId: string) => ({
  operationId,
  responses: { 200: { description: 'It.', content: content(Thing) }, default: anError },
})

const next = (url: string) => ({ schema: { type: 'string' }, example: `<${url}>; rel="next"` })
const document = {
  servers: [{ url: 'https://api.example.com/v1' }],
  paths: {
    '/pets': { get: listOf('listPets'), post: created('addPet') },
    '/pets/{id}': { parameters: [id], get: got('getPet') },
    '/visits': {
      get: listOf('listVisits', {
        parameters: [
          query('kind'),
          { ...query('ids', { type: 'array', items: integer }), explode: false },
          query('after'),
          query('limit', integer),
        ],
      }),
      post: created('addVisit'),
    },
    '/visits/{visitId}': { parameters: [{ ...id, name: 'visitId' }], get: got('getVisit') },
    '/pets/{id}/notes': {
      parameters: [id],
      post: created('addNote', { type: 'object', properties: { data: Thing } }),
    },
    '/pets/{id}/notes/{noteId}': { parameters: [id, { ...id, name: 'noteId' }], get: got('getNote') },
    '/jobs': {
      post: created('addJob', Thing, { ...text, example: 'https://api.example.com/v1/visits/9?x=1' }),
    },
    '/shops': { post: created('addShop', Thing, { ...text, example: 'https://elsewhere.example/9' }) },
    '/none': { post: created('addNone', Thing, text) },
    '/pages': {
      get: listOf('pages', { parameters: [query('page', integer), query('per_page', integer)], link: text }),
    },
    '/offsets': {
      get: listOf('offsets', {
        parameters: [query('offset', integer), query('limit', { ...integer, default: 2 })],
        link: text,
      }),
    },
    '/tokens': {
      get: listOf('tokens', {
        parameters: [query('pageToken', { type: 'string', minLength: 5 })],
        link: next('/other?pageToken=x'),
      }),
    },
    '/brackets': {
      get: listOf('brackets', {
        parameters: [query('page[after]'), query('page[size]', integer)],
        link: text,
      }),
    },
    '/others': {
      get: listOf('others', { parameters: [query('at', integer)], link: next('/others?at=7&b=1') }),
    },
    '/whole': {
      get: listOf('whole', {
        parameters: [query('after')],
        link: {
          ...text,
          example:
            '</v1/x>; rel="first", </v1/x?after=a>; rel=next, </v1/x>; rel="prev", </docs>; rel="help"',
        },
      }),
    },
    '/single': { get: listOf('single', { parameters: [], link: next('/v1/pets?after=2') }) },
    '/required': {
      get: listOf('required', {
        link: { required: true, schema: { type: 'string', pattern: '^<https://x/>; rel="a"$' } },
      }),
    },
  },
  components: {
    headers: {
      Next: {
        schema: { type: 'string', pattern: '^<http[^<>]+>; rel="[a-z-]+"$' },
        example: '<http://localhost:3000/v1/pets?limit=20&after=20>; rel="next"',
      },
      At: {
        required: true,
        schema: { type: 'string', format: 'uri' },
        example: 'http://localhost:3000/v1/pets/1',
      },
    },
  },
}

const host = 'mock.example:8080'
const at = (path: string) => `http://${host}/v1${path}`

const lists: readonly (readonly [title: string, url: string, link: string | undefined])[] = [
  ['a list', '/pets', `<${at('/pets?after=20')}>; rel="next"`],
  ['its last page', '/pets?after=20', undefined],
  ['another list with the same header', '/visits', `<${at('/visits?after=20')}>; rel="next"`],
  [
    'what was asked for, as it was sent',
    '/visits?ids=1,2&limit=1&kind=a+b%26c',
    `<${at('/visits?ids=1,2&limit=1&kind=a+b%26c&after=20')}>; rel="next"`,
  ],
  ['its last page with all of that', '/visits?kind=a&%61fter=20', undefined],
  ['pages by number, without an example', '/pages', `<${at('/pages?page=2')}>; rel="next"`],
  ['the first of them', '/pages?page=1&per_page=1', `<${at('/pages?per_page=1&page=2')}>; rel="next"`],
  ['the second', '/pages?page=2', undefined],
  ['pages by offset', '/offsets?limit=3', `<${at('/offsets?limit=3&offset=3')}>; rel="next"`],
  ['the default of their size', '/offsets?offset=0', `<${at('/offsets?offset=2')}>; rel="next"`],
  ['the last by offset', '/offsets?offset=2', undefined],
  ['a token that its schema allows', '/tokens', `<${at('/tokens?pageToken=textt')}>; rel="next"`],
  [
    'names in brackets',
    '/brackets?page%5Bsize%5D=2',
    `<${at('/brackets?page%5Bsize%5D=2&page%5Bafter%5D=text')}>; rel="next"`,
  ],
  ['a position of another name, by the example', '/others', `<${at('/others?at=7')}>; rel="next"`],
  [
    'all links of the first page',
    '/whole',
    `<${at('/whole')}>; rel="first", <${at('/whole?after=a')}>; rel=next, <http://${host}/docs>; rel="help"`,
  ],
  [
    'all of the last',
    '/whole?after=a',
    `<${at('/whole')}>; rel="first", <${at('/whole')}>; rel="prev", <http://${host}/docs>; rel="help"`,
  ],
  ['no next page without a parameter for it', '/single', undefined],
  ['a header that must be there', '/required', '<https://x/>; rel="a"'],
]

const sent = (t: Test, options: object = {}) =>
  mocked(t, document).then(
    (app) =>
      (url: string, more: object = {}) =>
        app.inject({ url: `/v1${url}`, headers: { host }, ...options, ...more }),
  )

t.test('a list links to its second page, which is the last', async (t) => {
  const ask = await sent(t)
  for (const [title, url, link] of lists) {
    const { statusCode, headers, payload } = await ask(url)
    t.equal(statusCode, 200, payload)
    t.equal(headers.link, link, title)
  }
})

t.test('following the links of each list comes to an end', async (t) => {
  const ask = await sent(t)
  for (const [, url] of lists) {
    let target: string | undefined = url
    let pages = 0
    for (; target !== undefined && pages < 5; pages++) {
      const { headers } = await ask(target)
      const [found] = linksIn(String(headers.link ?? '')).filter(({ relation }) => relation === 'next')
      target = found?.target.replace(`http://${host}/v1`, '')
    }
    t.ok(pages <= 2, url)
  }
})

t.test('a page has no more items than are asked for', async (t) => {
  const ask = await sent(t)
  t.strictSame((await ask('/visits?limit=2')).json(), [{ id: 1 }, { id: 2 }])
  t.equal((await ask('/pages?per_page=1')).json().length, 1)
  t.equal((await ask('/offsets')).json().length, 2, 'by default')
  t.equal((await ask('/visits?limit=9')).json().length, 3)
})

t.test('what was created is below the path of its request', async (t) => {
  const ask = await sent(t, { method: 'POST' })
  const cases: readonly (readonly [url: string, location: string | undefined])[] = [
    ['/pets', at(`/pets/${2n ** 60n}`)],
    ['/visits', at(`/visits/${2n ** 60n}`)],
    ['/pets/7/notes', at(`/pets/7/notes/${2n ** 60n}`)],
    ['/jobs', at('/visits/9?x=1')],
    ['/shops', 'https://elsewhere.example/9'],
    ['/none', undefined],
  ]
  for (const [url, location] of cases) t.equal((await ask(url)).headers.location, location, url)
})

t.test('a relation is that of its parameter, whatever a title in quotes says', async (t) => {
  const relations = (header: string) => linksIn(header).map(({ target, relation }) => [target, relation])
  t.strictSame(relations('</a>; title="; rel=next"; rel="prev", </b>; title="\\", <c>"; rel=next'), [
    ['/a', 'prev'],
    ['/b', 'next'],
  ])
})
