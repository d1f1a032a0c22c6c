// Parameters with `style`, `explode` or `content`, and cookies: the values that the handler receives, or the
// error.

import { contractWith, done, type HandlerRequest, startEngine } from 'contract-testing/engine'
import t from 'tap'

/** The request, and the values that reach the handler, or the message of the refusal. */
type Case = readonly [sent: string | Record<string, string>, outcome: object | string]

interface Group {
  readonly title: string
  /** The rest of its operation's path, below the group's name. Default: empty. */
  readonly path?: string
  readonly parameters: readonly object[]
  readonly cases: readonly Case[]
}

const int64 = { type: 'integer', format: 'int64' }
const ids = { type: 'array', items: int64 }
const texts = { type: 'array', items: { type: 'string' } }
const color = {
  type: 'object',
  required: ['R'],
  additionalProperties: false,
  properties: { R: int64, G: { type: 'integer' }, name: { type: 'string' }, dark: { type: 'boolean' } },
}
const max = 9223372036854775807n
const [R, big] = [max, String(max)]
const unfit = 'must be percent-encoded UTF-8 without NUL'

const inQuery: readonly Group[] = [
  {
    title: 'a list of parameters of one name (form, explode)',
    parameters: [{ name: 'ids', in: 'query', schema: { ...ids, maxItems: 2 } }],
    cases: [
      ['', {}],
      ['?ids=1', { ids: [1n] }],
      [`?ids=1&ids=${big}`, { ids: [1n, max] }],
      ['?ids=1&ids=2&ids=3', 'query.ids must have at most 2 items'],
      ['?ids=1,2', 'query.ids[0] must be an integer'],
      ['?ids=', 'query.ids[0] must be an integer'],
      ['?id=1', 'query.id is not a known parameter'],
    ],
  },
  {
    title: 'a list with commas (form)',
    parameters: [{ name: 'tags', in: 'query', explode: false, schema: { ...texts, uniqueItems: true } }],
    cases: [
      ['?tags=a,b', { tags: ['a', 'b'] }],
      ['?tags=a%2Cb,c', { tags: ['a,b', 'c'] }],
      ['?%74ags=a+b,%26%3D', { tags: ['a b', '&='] }],
      ['?tags=a,,b', { tags: ['a', '', 'b'] }],
      ['?tags=', { tags: [''] }],
      ['?tags=a,b=c', { tags: ['a', 'b=c'] }],
      ['?tags=a,a', 'query.tags must not contain the same item twice'],
      ['?tags=a&tags=b', 'query.tags must be given once'],
      ['?tags=a,%FF', `query.tags ${unfit}`],
      ['?tags=a,%00', `query.tags ${unfit}`],
      ['?tags=a&__proto__=1', 'query.__proto__ is not a known parameter'],
      ['?tags=a&__proto__[x]=1', 'query["__proto__[x]"] is not a known parameter'],
    ],
  },
  {
    title: 'a list with blanks',
    parameters: [{ name: 'ids', in: 'query', style: 'spaceDelimited', explode: false, schema: ids }],
    cases: [
      ['?ids=1%202+3', { ids: [1n, 2n, 3n] }],
      ['?ids=1,2', 'query.ids[0] must be an integer'],
    ],
  },
  {
    title: 'a list with bars, and an object',
    parameters: [
      { name: 'tags', in: 'query', style: 'pipeDelimited', schema: texts },
      { name: 'color', in: 'query', style: 'pipeDelimited', schema: color },
    ],
    cases: [
      ['?tags=a|b%7cc%7Cd', { tags: ['a', 'b', 'c', 'd'] }],
      [`?color=R|${big}%7CG|2`, { color: { R, G: 2 } }],
    ],
  },
  {
    title: 'an object in turn (form)',
    parameters: [{ name: 'color', in: 'query', explode: false, schema: color }],
    cases: [
      [`?color=R,${big},name,a%2Cb,dark,true`, { color: { R, name: 'a,b', dark: true } }],
      ['?color=R,1,G', 'query.color must be names and values in turn'],
      ['?color=R,1,R,2', 'query.color.R must be given once'],
      ['?color=G,x', 'query.color.R is required; query.color.G must be an integer'],
      ['?color=', 'query.color.R is required'],
      ['?color=R,1,B,2', 'query.color.B is not a known field'],
      ['?color=R,1,__proto__,2', 'query.color.__proto__ is not a known field'],
      ['?R=1', 'query.R is not a known parameter'],
    ],
  },
  {
    title: 'an object of parameters of their own (form, explode)',
    parameters: [
      { name: 'color', in: 'query', required: true, schema: color },
      { name: 'limit', in: 'query', schema: { type: 'integer', default: 5 } },
    ],
    cases: [
      [`?R=${big}&G=2&limit=7`, { color: { R, G: 2 }, limit: 7 }],
      ['?R=1', { color: { R: 1n }, limit: 5 }],
      ['', 'query.R is required'],
      ['?R=x', 'query.R must be an integer'],
      ['?R=1&R=2', 'query.R must be given once'],
      ['?R=1&limit=1&limit=2', 'query.limit must be given once'],
      ['?R=1&color=2', 'query.color must be an object'],
      ['?R=1&B=2', 'query.B is not a known parameter'],
      ['?R=%FF', `query.R must be an integer`],
    ],
  },
  {
    title: 'an object of any other parameters',
    parameters: [
      { name: 'others', in: 'query', schema: { type: 'object', additionalProperties: { type: 'integer' } } },
      { name: 'limit', in: 'query', schema: { type: 'integer' } },
    ],
    cases: [
      ['?a=1&limit=7&constructor=2', { others: { a: 1, constructor: 2 }, limit: 7 }],
      ['?a=x', 'query.a must be an integer'],
      ['?limit=1', { limit: 1 }],
    ],
  },
  {
    title: 'a deepObject',
    parameters: [
      {
        name: 'filter',
        in: 'query',
        style: 'deepObject',
        schema: { ...color, additionalProperties: { type: 'string' } },
      },
      { name: 'f', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
    ],
    cases: [
      [`?filter[R]=${big}&filter%5BG%5D=2&f[R]=x`, { filter: { R, G: 2 }, f: { R: 'x' } }],
      ['?filter[R]=1&filter[any]=+', { filter: { R: 1n, any: ' ' } }],
      ['?filter[G]=1', 'query.filter.R is required'],
      ['?filter[R]=1&filter[R]=2', 'query.filter.R must be given once'],
      ['?filter[R]=x', 'query.filter.R must be an integer'],
      ['?filter=R,1', 'query.filter must be an object'],
      ['?filter[R][x]=1', 'query["filter[R][x]"] is not a known parameter'],
      ['?filter[]=1', 'query["filter[]"] is not a known parameter'],
      ['?filter[R=1', 'query["filter[R"] is not a known parameter'],
      [
        '?filter[R]=1&filter[__proto__]=x',
        {
          filter: Object.fromEntries([
            ['R', 1n],
            ['__proto__', 'x'],
          ]),
        },
      ],
    ],
  },
  {
    title: 'a deepObject behind an object of any other parameters',
    parameters: [
      { name: 'others', in: 'query', schema: { type: 'object', additionalProperties: { type: 'integer' } } },
      { name: 'filter', in: 'query', style: 'deepObject', schema: color },
    ],
    cases: [['?a=1&filter[R]=2', { others: { a: 1 }, filter: { R: 2n } }]],
  },
  {
    title: 'a deepObject with the name of an object of cookies',
    parameters: [
      { name: 'color', in: 'query', style: 'deepObject', schema: color },
      { name: 'color', in: 'cookie', style: 'cookie', schema: color },
    ],
    cases: [['?color[R]=x', 'query.color.R must be an integer']],
  },
  {
    title: 'JSON',
    parameters: [
      {
        name: 'q',
        in: 'query',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Tree' } } },
      },
      {
        name: 'n',
        in: 'query',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Three' } } },
      },
    ],
    cases: [
      [`?q={"id":${big},"children":[{"id":1}]}`, { q: { id: max, children: [{ id: 1n }] }, n: 3n }],
      ['?q=%7B%22id%22%3A1%7D&n=5', { q: { id: 1n }, n: 5n }],
      ['?q={"id":"1"}', 'query.q.id must be an integer'],
      ['?q={"id":1,"children":[{"id":1,"x":2}]}', 'query.q.children[0].x is not a known field'],
      ['?q=[]', 'query.q must be an object'],
      ['?q=1', 'query.q must be an object'],
      ['?q=null', 'query.q must be an object'],
      ['?q={', '^query\\.q is not valid JSON: '],
      ['?q={"id":1,"id":1}', 'query.q has the name "id" twice in one object'],
      ['?q={"id":1}&q={"id":1}', 'query.q must be given once'],
      ['?n="5"', 'query.n must be an integer'],
    ],
  },
  {
    title: 'what may be empty, anything, or one of several',
    parameters: [
      { name: 'since', in: 'query', allowEmptyValue: true, schema: { type: 'integer', default: 1 } },
      { name: 'any', in: 'query', schema: {} },
      { name: 'sort', in: 'query', schema: { oneOf: [{ type: 'integer' }, ids] } },
      { name: 'at', in: 'query', allowReserved: true, schema: { type: 'string' } },
    ],
    cases: [
      ['?since=', { since: 1 }],
      ['?since', { since: 1 }],
      ['?since=5', { since: 5 }],
      ['?since=1&since=2', 'query.since must be given once'],
      ['?any=', { any: '', since: 1 }],
      ['?any=1&any=2', 'query.any must be given once'],
      ['?sort=1', { sort: 1, since: 1 }],
      ['?sort=1&sort=2', { sort: [1n, 2n], since: 1 }],
      ['?at=/a?b:c@d,e;f=[g]', { at: '/a?b:c@d,e;f=[g]', since: 1 }],
      ['?at=1&at=2', 'query.at must be given once'],
    ],
  },
]

function inPath(style: string, explode: boolean, schema: object, cases: readonly Case[]): Group {
  const title = `${(schema as { type: string }).type}, ${style}${explode ? ', explode' : ''}`
  return {
    title,
    path: '/{p}',
    parameters: [{ name: 'p', in: 'path', required: true, style, explode, schema }],
    cases,
  }
}

const inPaths: readonly Group[] = [
  inPath('simple', false, texts, [
    ['/a,b%2Cc,%2525+', { p: ['a', 'b,c', '%25+'] }],
    ['/a', { p: ['a'] }],
    ['/a,%00', `path.p ${unfit}`],
    ['/a,%2F', { p: ['a', '/'] }],
  ]),
  inPath('simple', true, { ...ids, minItems: 2 }, [
    [`/1,${big}`, { p: [1n, max] }],
    ['/1', 'path.p must have at least 2 items'],
    ['/1,x', 'path.p[1] must be an integer'],
  ]),
  inPath('simple', false, color, [
    ['/R,1,name,a%2Cb', { p: { R: 1n, name: 'a,b' } }],
    ['/R', 'path.p must be names and values in turn'],
    ['/R,1,name,%00', `path.p ${unfit}`],
  ]),
  inPath('simple', true, color, [
    ['/R=1,name=a%3Db=c', { p: { R: 1n, name: 'a=b=c' } }],
    ['/R,1', 'path.p must be fields, each written name=value'],
  ]),
  inPath('label', false, int64, [
    ['/.5', { p: 5n }],
    ['/5', 'path.p must begin with a dot'],
  ]),
  inPath('label', false, texts, [['/.a,b.c', { p: ['a', 'b.c'] }]]),
  inPath('label', true, texts, [['/.a.b,%2E', { p: ['a', 'b,.'] }]]),
  inPath('label', false, color, [['/.R,1,G,2', { p: { R: 1n, G: 2 } }]]),
  inPath('label', true, color, [['/.R=1.G=2', { p: { R: 1n, G: 2 } }]]),
  inPath('matrix', false, { type: 'string' }, [
    ['/;p=a,b', { p: 'a,b' }],
    ['/;p', { p: '' }],
    ['/a', 'path.p must be written ;p=…'],
    ['/;q=a', 'path.p must be written ;p=…'],
    ['/;p=a;p=b', 'path.p must be given once'],
  ]),
  inPath('matrix', false, texts, [['/;p=a,b%2C', { p: ['a', 'b,'] }]]),
  inPath('matrix', true, texts, [
    ['/;p=a;p=b%3B', { p: ['a', 'b;'] }],
    ['/;p=a;q=b', 'path.p must be written ;p=…'],
  ]),
  inPath('matrix', false, color, [['/;p=R,1,G,2', { p: { R: 1n, G: 2 } }]]),
  inPath('matrix', true, color, [
    ['/;R=1;G=2', { p: { R: 1n, G: 2 } }],
    ['/R=1', 'path.p must be written ;p=…'],
    ['/;R=1;R=2', 'path.p.R must be given once'],
  ]),
  {
    title: 'what follows a text in its segment',
    path: '/report{format}/{id}',
    parameters: [
      {
        name: 'format',
        in: 'path',
        required: true,
        style: 'label',
        schema: { type: 'string', enum: ['csv', 'json'] },
      },
      { name: 'id', in: 'path', required: true, schema: int64 },
    ],
    cases: [
      ['/report.csv/5', { format: 'csv', id: 5n }],
      ['/rep%6frt.json/5', { format: 'json', id: 5n }],
      ['/report.xml/x', 'path.format must be one of: csv, json; path.id must be an integer'],
    ],
  },
  {
    title: 'JSON in a path',
    path: '/{p}',
    parameters: [{ name: 'p', in: 'path', required: true, content: { 'application/json': { schema: ids } } }],
    cases: [
      ['/[1,%202]', { p: [1n, 2n] }],
      ['/1', 'path.p must be an array'],
    ],
  },
]

const inHeaders: readonly Group[] = [
  {
    title: 'lists and objects of headers',
    parameters: [
      { name: 'X-Ids', in: 'header', schema: { ...ids, maxItems: 3 } },
      { name: 'X-Color', in: 'header', schema: color },
      { name: 'X-Hue', in: 'header', explode: true, schema: color },
      { name: 'X-Json', in: 'header', content: { 'application/json': { schema: { type: 'object' } } } },
      { name: 'X-Forwarded-For', in: 'header', schema: texts },
    ],
    cases: [
      [{ 'X-Ids': `1, ,${big} ,` }, { 'x-ids': [1n, max] }],
      [{ 'X-Ids': '' }, { 'x-ids': [] }],
      [{ 'X-Ids': '1,2,3,4' }, 'header.x-ids must have at most 3 items'],
      [{ 'X-Ids': '1,x' }, 'header.x-ids[1] must be an integer'],
      [{ 'X-Color': 'R, 1, name, a%2C' }, { 'x-color': { R: 1n, name: 'a%2C' } }],
      [{ 'X-Color': 'R' }, 'header.x-color must be names and values in turn'],
      [{ 'X-Hue': 'R=1, G=2' }, { 'x-hue': { R: 1n, G: 2 } }],
      [{ 'X-Json': '{"a":1}' }, { 'x-json': { a: 1 } }],
      [{ 'X-Json': '1' }, 'header.x-json must be an object'],
      [{ 'X-Forwarded-For': '192.0.2.1, 192.0.2.2' }, { 'x-forwarded-for': ['192.0.2.1', '192.0.2.2'] }],
    ],
  },
  {
    title: 'headers of which other parts of the contract speak',
    parameters: ['Accept', 'content-type', 'AUTHORIZATION'].map((name) => ({
      name,
      in: 'header',
      required: true,
      schema: { type: 'integer' },
    })),
    cases: [[{}, {}]],
  },
]

const inCookies: readonly Group[] = [
  {
    title: 'cookies',
    parameters: [
      { name: 'session', in: 'cookie', required: true, schema: { type: 'string', minLength: 2 } },
      { name: 'n', in: 'cookie', schema: { ...int64, default: 7 } },
      { name: 'ids', in: 'cookie', explode: false, schema: ids },
      { name: 'color', in: 'cookie', explode: false, schema: color },
      { name: 'prefs', in: 'cookie', content: { 'application/json': { schema: { type: 'array' } } } },
    ],
    cases: [
      [{ cookie: 'session=ab' }, { session: 'ab', n: 7n }],
      [
        { cookie: `other=1; session=a%20b=;n=${big}; ids=1,2; color=R,1; prefs=[1]; __proto__=x` },
        { session: 'a b=', n: max, ids: [1n, 2n], color: { R: 1n }, prefs: [1] },
      ],
      [{}, 'cookie.session is required'],
      [{ cookie: 'session=a' }, 'cookie.session must have at least 2 characters'],
      [{ cookie: 'session=ab; session=cd' }, 'cookie.session must be given once'],
      [{ cookie: 'session=ab; n=x; prefs=1' }, 'cookie.prefs must be an array; cookie.n must be an integer'],
      [{ cookie: 'session=%FF' }, `cookie.session ${unfit}`],
      [{ cookie: 'session=a%00' }, `cookie.session ${unfit}`],
      [{ cookie: 'Session=ab' }, 'cookie.session is required'],
    ],
  },
]

const places = [
  ['query', 'query', inQuery],
  ['path', 'params', inPaths],
  ['header', 'headers', inHeaders],
  ['cookie', 'cookies', inCookies],
] as const

const tree = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: int64, children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
}

const operations = places.flatMap(([place, , groups]) =>
  groups.map(({ path = '', parameters }, index) => {
    const name = `${place}${index}`
    return [name, { method: 'get', path: `/${name}${path}`, parameters, responses: done }] as const
  }),
)

t.test('parameters', async (t) => {
  const requests: HandlerRequest[] = []
  const keep = async (request: HandlerRequest) => {
    requests.push(request)
    return { status: 204 }
  }
  const schemas = { Tree: tree, Three: { ...int64, default: 3 } }
  const contract = await contractWith(Object.fromEntries(operations), { schemas })
  const handlers = Object.fromEntries(operations.map(([name]) => [name, keep]))
  const { call } = await startEngine(t, contract, handlers)

  for (const [place, part, groups] of places) {
    for (const [index, { title, cases }] of groups.entries()) {
      for (const [sent, outcome] of cases) {
        t.test(`${place}, ${title}: ${JSON.stringify(sent)}`, async (t) => {
          const [target, headers] = typeof sent === 'string' ? [sent, {}] : ['', sent]
          const { status, body } = await call('GET', `/${place}${index}${target}`, { headers })
          const [request] = requests.splice(0)
          if (typeof outcome === 'string') {
            t.equal(status, 400)
            const isPattern = outcome.startsWith('^')
            t.match(body.message, isPattern ? new RegExp(outcome) : outcome)
            if (!isPattern) t.equal(body.message, outcome)
            t.equal(request, undefined)
            return
          }
          t.equal(status, 204, body?.message)
          const values = request?.[part] ?? {}
          if (place === 'header') t.match(values, outcome)
          else t.strictSame(plain(values), plain(outcome))
        })
      }
    }
  }

  t.test('of headers are checked for HEAD, too', async (t) => {
    t.equal((await call('HEAD', '/header0', { headers: { 'x-ids': 'x' } })).status, 400)
  })
})

// Deserialized objects have no prototype.
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}
