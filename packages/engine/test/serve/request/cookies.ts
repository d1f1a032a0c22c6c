// Cookies as a parameter and as a scheme's key: the server reads both from the same text in the same way.

import { type Check, errorHandler, mount, notFoundHandler, verdictOf } from 'contract-engine'
import { contractWith } from 'contract-testing/engine'
import Fastify from 'fastify'
import t from 'tap'

const name = '__Host-session'
const parameter = { name, in: 'cookie', schema: { type: 'string' } }
const contract = await contractWith(
  {
    parameter: { method: 'get', security: [], parameters: [parameter], responses: { 200: anyText() } },
    scheme: { method: 'get', security: [{ session: [] }], responses: { 200: anyText() } },
  },
  { components: { securitySchemes: { session: { type: 'apiKey', in: 'cookie', name } } } },
)

function anyText() {
  return { description: 'What was read.', content: { 'text/plain': { schema: { type: 'string' } } } }
}

const app = Fastify()
t.teardown(() => app.close())
app.setErrorHandler(errorHandler(contract))
app.setNotFoundHandler(notFoundHandler(app, contract))
// Any credential is valid, and is the only scope of its caller.
const session: Check = { caller: (credential) => ({ scopes: new Set([credential]) }) }
await mount(app, {
  contract,
  security: { session },
  handlers: {
    parameter: async ({ cookies }: { cookies: Record<string, string> }) => {
      return { status: 200, body: cookies[name] ?? 'none' }
    },
    scheme: async (_: unknown, scopes: ReadonlySet<string>) => ({ status: 200, body: [...scopes].join() }),
  },
  context: (request) => verdictOf(request)?.caller?.scopes,
})

// A scheme responds 401 if its cookie is missing, or is sent twice.
for (const [title, cookie, read] of [
  ['alone', '__Host-session=ann', 'ann'],
  ['among others', 'a=b; __Host-session=ann;c=d', 'ann'],
  ['between blanks and tabs', 'a=b; \t__Host-session \t=\t ann \t; c=d', 'ann'],
  ['whose value is encoded', '__Host-session=ann%20%C3%A9%3B', 'ann é;'],
  ['whose value has equals signs', '__Host-session=a=b==', 'a=b=='],
  ['whose value has a plus sign and quotes', '__Host-session="a+b"', '"a+b"'],
  ['whose value begins with an encoded blank', '__Host-session=%20ann', ' ann'],
  ['beside its name encoded', '__Host-session=ann; __%48ost-session=eve', 'ann'],
  [
    'beside its name encoded otherwise',
    '__%68ost-session=eve; __Host-session=ann; %5F_Host-session=eve',
    'ann',
  ],
  ['beside its name in other letters', '__host-session=eve; __Host-session=ann; __HOST-SESSION=eve', 'ann'],
  ['beside its name behind a no-break space', '\u00a0__Host-session=eve; __Host-session=ann', 'ann'],
  ['beside its name before a no-break space', '__Host-session\u00a0=eve; __Host-session=ann', 'ann'],
  ['beside its name in quotes', '"__Host-session"=eve; __Host-session=ann', 'ann'],
  ['beside a cookie without a name', '__Host-session; __Host-session=ann; =__Host-session=eve', 'ann'],
  ['beside a value with its text', 'a=__Host-session=eve; __Host-session=ann', 'ann'],
  ['encoded alone', '__%48ost-session=eve', undefined],
  ['encoded whole', '%5F%5F%48%6F%73%74%2D%73%65%73%73%69%6F%6E=eve', undefined],
  ['in other letters alone', '__HOST-SESSION=eve', undefined],
  ['behind a no-break space alone', '\u00a0__Host-session=eve', undefined],
  ['without an equals sign', '__Host-session', undefined],
  ['behind a comma', 'a=b, __Host-session=eve', undefined],
  ['of no header', '', undefined],
] as const)
  t.test(`a cookie ${title} is ${read ?? 'not'} read, by a parameter and by a scheme`, async (t) => {
    const headers = { cookie }
    const [ofParameter, ofScheme] = [
      await app.inject({ url: '/parameter', headers }),
      await app.inject({ url: '/scheme', headers }),
    ]
    t.match(ofParameter, { statusCode: 200, body: read ?? 'none' })
    t.match(ofScheme, read === undefined ? { statusCode: 401 } : { statusCode: 200, body: read })
  })

t.test('a cookie that is no text is no parameter and no credential', async (t) => {
  for (const text of ['a%00b', '%00', '%FF', 'a%zz', '100%']) {
    const headers = { cookie: `__Host-session=${text}` }
    t.match((await app.inject({ url: '/scheme', headers })).json(), { code: 'invalid_credentials' }, text)
    t.match((await app.inject({ url: '/parameter', headers })).json(), {
      message: 'cookie.__Host-session must be percent-encoded UTF-8 without NUL',
    })
  }
})

t.test('a cookie that is sent twice is nobody’s, and a parameter is given once', async (t) => {
  const headers = { cookie: '__Host-session=ann; __Host-session=eve' }
  t.match((await app.inject({ url: '/scheme', headers })).json(), { code: 'invalid_credentials' })
  t.match((await app.inject({ url: '/parameter', headers })).json(), {
    message: 'cookie.__Host-session must be given once',
  })
})
