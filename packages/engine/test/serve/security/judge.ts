// Requirements, credentials, and outcomes: each row with checks that answer at once, and with checks that
// wait.

import {
  type Caller,
  type Check,
  errorHandler,
  mount,
  notFoundHandler,
  RequestError,
  type UsernamePassword,
  verdictOf,
} from 'contract-engine'
import { contractOf } from 'contract-testing/engine'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { CheckList } from '../../../src/serve/security/check.js'

interface Named extends Caller {
  readonly name: string
}

const flows = { clientCredentials: { tokenUrl: 'https://a.example', scopes: { read: 'R', write: 'W' } } }
const securitySchemes = {
  key: { type: 'http', scheme: 'Bearer' },
  oauth: { type: 'oauth2', flows },
  oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://a.example' },
  basic: { type: 'http', scheme: 'basic' },
  digest: { type: 'http', scheme: 'Digest' },
  odd: { type: 'http', scheme: 'constructor' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  secret: { type: 'apiKey', in: 'header', name: 'X-Secret' },
  query: { type: 'apiKey', in: 'query', name: 'the key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
}

// A credential consists of its scheme, its caller and scopes: `key/ann/read/write`.
const outcomes: Record<string, () => never> = {
  down: () => fail('try_later', 503, { 'Retry-After': '2' }),
  banned: () => fail('banned', 403),
  own: () => fail('too_old', 401),
  fault: () => {
    throw new TypeError('a fault')
  },
}

function fail(code: string, status: number, headers = {}): never {
  throw new RequestError(code, `It is ${code}.`, { status, headers })
}

function callerOf(scheme: string, credential: string): Named | undefined {
  const [of, name = '', ...scopes] = credential.split('/')
  outcomes[name]?.()
  if (name === 'false') return false as unknown as undefined // JavaScript code may return it
  return of === scheme && name !== 'unknown'
    ? { name: `${scheme}/${name}`, scopes: new Set(scopes) }
    : undefined
}

const textOf = (credential: string | UsernamePassword) =>
  typeof credential === 'string' ? credential : `${credential.username}/${credential.password}`

function checksOf(isPatient: boolean): CheckList<Named> {
  const checkOf = (scheme: string): Check<Named, string | UsernamePassword> => ({
    caller: isPatient
      ? async (credential) => callerOf(scheme, textOf(credential))
      : (credential) => callerOf(scheme, textOf(credential)),
    recognizes: (credential) => textOf(credential).startsWith(`${scheme}/`),
    recall: (credential) => callerOf(scheme, textOf(credential)),
  })
  return Object.fromEntries(Object.keys(securitySchemes).map((scheme) => [scheme, checkOf(scheme)]))
}

const realm = 'realm="Pat\\"s Toys"'
const bearer = `Bearer ${realm}`
const basic = `Basic ${realm}, charset="UTF-8"`
const header = `ApiKey ${realm}, in="header", name="X-Key"`
const bad = 'error="invalid_token", error_description="The credentials are not valid"'
const base64 = (text: string) => Buffer.from(text).toString('base64')

interface Sent {
  readonly query?: string
  readonly [header: string]: string | undefined
}
/** The caller's name, or the status, the code, and the challenge or another part of the response. */
type Expected = string | readonly [status: number, code: string, challenge?: string]
type Row = readonly [title: string, security: object[], sent: Sent, expected: Expected]

const missing = (challenge: string): Expected => [401, 'missing_credentials', challenge]
const invalid = (challenge: string): Expected => [401, 'invalid_credentials', challenge]
const lacking = (scope: string, scheme = bearer): Expected => {
  return [403, 'insufficient_scope', `${scheme}, error="insufficient_scope", scope="${scope}"`]
}
const auth = (credentials: string): Sent => ({ authorization: credentials })

const either = [{ key: [] }, { header: [] }]
const both = [{ header: [], secret: [] }]
const optional = [{}, { key: [] }]
const sideBySide = [{ key: [] }, { oauth: ['read'] }]

const rows: readonly Row[] = [
  ['a bearer token', [{ key: [] }], auth('Bearer key/ann'), 'key/ann'],
  ['its scheme in any case, with many spaces', [{ key: [] }], auth('bEARER   key/ann  '), 'key/ann'],
  [
    'a no-break space before a token',
    [{ key: [] }],
    auth('Bearer \u00a0key/ann'),
    invalid(`${bearer}, ${bad}`),
  ],
  ['nothing', [{ key: [] }], {}, missing(bearer)],
  ['an empty header', [{ key: [] }], auth(''), missing(bearer)],
  ['the scheme alone', [{ key: [] }], auth('Bearer'), missing(bearer)],
  ['another scheme', [{ key: [] }], auth('Basic key/ann'), missing(bearer)],
  ['a scheme that begins alike', [{ key: [] }], auth('Bearers key/ann'), missing(bearer)],
  ['a token alone', [{ key: [] }], auth('key/ann'), missing(bearer)],
  ['two tokens in one', [{ key: [] }], auth('Bearer key/ann key/bob'), missing(bearer)],
  ['an unknown token', [{ key: [] }], auth('Bearer key/unknown'), invalid(`${bearer}, ${bad}`)],
  [
    'a token of which a check says false',
    [{ key: [] }],
    auth('Bearer key/false'),
    invalid(`${bearer}, ${bad}`),
  ],
  ['a scheme that objects have a member of', [{ odd: [] }], auth('Constructor odd/ann'), 'odd/ann'],
  [
    'a token that the check refuses with an error of its own',
    [{ key: [] }],
    auth('Bearer key/own'),
    [401, 'too_old', `${bearer}, error="invalid_token", error_description="It is too_old"`],
  ],
  ['a token that nobody can check now', [{ key: [] }], auth('Bearer key/down'), [503, 'try_later']],
  ['a caller who is refused', [{ key: [] }], auth('Bearer key/banned'), [403, 'banned']],
  ['a fault of the check', [{ key: [] }], auth('Bearer key/fault'), [500, 'internal_error']],

  ['an OAuth2 token', [{ oauth: [] }], auth('Bearer oauth/ann'), 'oauth/ann'],
  ['a token of OpenID Connect', [{ oidc: [] }], auth('Bearer oidc/ann'), 'oidc/ann'],
  ['a name and a password', [{ basic: [] }], auth(`Basic ${base64('basic:ann')}`), 'basic/ann'],
  ['a password with a colon', [{ basic: [] }], auth(`basic ${base64('basic:a:b')}`), 'basic/a:b'],
  ['names in UTF-8', [{ basic: [] }], auth(`Basic ${base64('basic:zoë')}`), 'basic/zoë'],
  ['an empty password', [{ basic: [] }], auth(`Basic ${base64('basic:')}`), 'basic/'],
  ['Basic without credentials', [{ basic: [] }], {}, missing(basic)],
  ['no base64', [{ basic: [] }], auth('Basic ?'), invalid(basic)],
  ['base64 without its padding', [{ basic: [] }], auth('Basic YmFzaWM6YW5uYQ'), invalid(basic)],
  ['text behind base64', [{ basic: [] }], auth(`Basic ${base64('basic:ann')} x`), invalid(basic)],
  [
    'no UTF-8',
    [{ basic: [] }],
    auth(`Basic ${Buffer.of(0x61, 0x3a, 0xff).toString('base64')}`),
    invalid(basic),
  ],
  ['no colon', [{ basic: [] }], auth(`Basic ${base64('basic')}`), invalid(basic)],
  ['a control character', [{ basic: [] }], auth(`Basic ${base64('basic:a\n')}`), invalid(basic)],
  ['another HTTP scheme', [{ digest: [] }], auth('Digest digest/ann'), 'digest/ann'],
  ['its challenge', [{ digest: [] }], {}, missing(`Digest ${realm}`)],
  ['a key in a header', [{ header: [] }], { 'x-key': 'header/ann' }, 'header/ann'],
  ['an empty key', [{ header: [] }], { 'x-key': '' }, missing(header)],
  ['an unknown key', [{ header: [] }], { 'x-key': 'header/unknown' }, invalid(`${header}, ${bad}`)],
  ['a key in the query', [{ query: [] }], { query: 'the+key=query%2Fann' }, 'query/ann'],
  ['a key in the query, encoded otherwise', [{ query: [] }], { query: 'the%20key=query/ann' }, 'query/ann'],
  [
    'no key in the query',
    [{ query: [] }],
    { query: 'key=query/ann' },
    missing(`ApiKey ${realm}, in="query", name="the key"`),
  ],
  [
    'a key in the query twice',
    [{ query: [] }],
    { query: 'the+key=query/ann&the%20key=query/ann' },
    invalid(`ApiKey ${realm}, in="query", name="the key", ${bad}`),
  ],
  [
    'a key in the query that is no text',
    [{ query: [] }],
    { query: 'the+key=query/ann%00' },
    invalid(`ApiKey ${realm}, in="query", name="the key", ${bad}`),
  ],
  ['a key in a cookie', [{ cookie: [] }], { cookie: 'a=b; session=cookie%2Fann;c=d' }, 'cookie/ann'],
  [
    'a cookie twice',
    [{ cookie: [] }],
    { cookie: 'session=cookie/ann; session=cookie/bob' },
    invalid(`ApiKey ${realm}, in="cookie", name="session", ${bad}`),
  ],

  ['the first of two alternatives', either, auth('Bearer key/ann'), 'key/ann'],
  ['the second', either, { 'x-key': 'header/bob' }, 'header/bob'],
  ['both', either, { ...auth('Bearer key/ann'), 'x-key': 'header/bob' }, 'key/ann'],
  ['neither', either, {}, missing(`${bearer}, ${header}`)],
  ['one that is not valid', either, { 'x-key': 'header/unknown' }, invalid(`${bearer}, ${header}, ${bad}`)],
  [
    'one that is, beside one that is not',
    either,
    { ...auth('Bearer key/unknown'), 'x-key': 'header/bob' },
    'header/bob',
  ],
  [
    'one that is, beside one that cannot be checked',
    either,
    { ...auth('Bearer key/down'), 'x-key': 'header/bob' },
    'header/bob',
  ],
  [
    'one that is not valid, beside one that cannot be checked',
    either,
    { ...auth('Bearer key/down'), 'x-key': 'header/unknown' },
    [503, 'try_later'],
  ],
  [
    'one that cannot be checked, beside a lack of scopes',
    [{ key: [] }, { header: ['read'] }],
    { ...auth('Bearer key/down'), 'x-key': 'header/bob' },
    [503, 'try_later'],
  ],

  ['both of two schemes', both, { 'x-key': 'header/ann', 'x-secret': 'secret/s' }, 'header/ann secret/s'],
  [
    'only the first',
    both,
    { 'x-key': 'header/ann' },
    missing(`${header}, ${header.replace('Key"', 'Secret"')}`),
  ],
  [
    'only the second',
    both,
    { 'x-secret': 'secret/s' },
    missing(`${header}, ${header.replace('Key"', 'Secret"')}`),
  ],
  [
    'the second of which is not valid',
    both,
    { 'x-key': 'header/ann', 'x-secret': 'secret/unknown' },
    invalid(`${header}, ${header.replace('Key"', 'Secret"')}, ${bad}`),
  ],
  [
    'one of both, and another alternative',
    [...both, { key: [] }],
    { 'x-key': 'header/ann', ...auth('Bearer key/bob') },
    'key/bob',
  ],
  [
    'a lack of scopes in one of both',
    [{ header: ['read'], secret: [] }],
    { 'x-key': 'header/ann', 'x-secret': 'secret/s' },
    lacking('read', header),
  ],
  [
    'and the other missing',
    [{ header: ['read'], secret: [] }],
    { 'x-key': 'header/ann' },
    missing(`${header}, ${header.replace('Key"', 'Secret"')}`),
  ],

  ['optional, without credentials', optional, {}, ''],
  ['optional, with a token', optional, auth('Bearer key/ann'), 'key/ann'],
  ['optional, with a token that is not valid', optional, auth('Bearer key/unknown'), ''],
  ['optional, with one that nobody can check now', optional, auth('Bearer key/down'), [503, 'try_later']],
  ['optional, with a scope that the caller lacks', [{ key: ['read'] }, {}], auth('Bearer key/ann'), ''],
  ['no security', [], auth('Bearer key/ann'), ''],

  ['a scope', [{ oauth: ['read'] }], auth('Bearer oauth/ann/read/write'), 'oauth/ann'],
  ['all scopes', [{ oauth: ['read', 'write'] }], auth('Bearer oauth/ann/write/read'), 'oauth/ann'],
  ['one of two scopes', [{ oauth: ['read', 'write'] }], auth('Bearer oauth/ann/read'), lacking('read write')],
  ['a role', [{ key: ['admin'] }], auth('Bearer key/ann/admin'), 'key/ann'],
  ['no role', [{ header: ['admin'] }], { 'x-key': 'header/ann' }, lacking('admin', header)],
  [
    'no role, with Basic',
    [{ basic: ['admin'] }],
    auth(`Basic ${base64('basic:ann')}`),
    [403, 'insufficient_scope', ''],
  ],
  [
    'one scheme with other scopes',
    [{ oauth: ['read'] }, { oauth: ['write'] }],
    auth('Bearer oauth/ann/write'),
    'oauth/ann',
  ],
  [
    'a lack of scopes in one, an alternative without',
    [{ oauth: ['read'] }, { header: [] }],
    { ...auth('Bearer oauth/ann'), 'x-key': 'header/bob' },
    'header/bob',
  ],
  [
    'a lack of scopes goes before what is missing',
    [{ header: [] }, { oauth: ['read'] }],
    auth('Bearer oauth/ann'),
    lacking('read'),
  ],
  [
    'and before what is not valid',
    [{ header: [] }, { oauth: ['read'] }],
    { ...auth('Bearer oauth/ann'), 'x-key': 'header/unknown' },
    lacking('read'),
  ],

  ['a token of the first form', sideBySide, auth('Bearer key/ann'), 'key/ann'],
  ['a token of the second', sideBySide, auth('Bearer oauth/ann/read'), 'oauth/ann'],
  ['of the second, without its scope', sideBySide, auth('Bearer oauth/ann'), lacking('read')],
  ['of the second, and unknown', sideBySide, auth('Bearer oauth/unknown'), invalid(`${bearer}, ${bad}`)],
  ['of the first, and not to be checked now', sideBySide, auth('Bearer key/down'), [503, 'try_later']],
  ['of no form', sideBySide, auth('Bearer down'), invalid(`${bearer}, ${bad}`)],
  ['of neither, none sent', sideBySide, {}, missing(bearer)],
]

const statuses = Object.fromEntries(
  [200, 401, 403, 500, 503].map((status) => [status, { description: 'A.' }]),
)
const contract = await contractOf({
  info: { title: 'Pat"s Toys', version: '1' },
  components: { securitySchemes },
  paths: Object.fromEntries(
    rows.map(([, security], i) => [
      `/rows/${i}`,
      { get: { operationId: `row${i}`, security, responses: statuses } },
    ]),
  ),
})

async function start(t: Test, isPatient: boolean): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  app.addHook('onSend', async (request, reply) => {
    const callers = Object.values(verdictOf(request)?.callers ?? {}) as Named[]
    reply.header('x-callers', Buffer.from(callers.map(({ name }) => name).join(' ')).toString('base64'))
  })
  const handlers = Object.fromEntries(
    [...contract.operations.keys()].map((id) => [id, async () => ({ status: 200 })]),
  )
  await mount(app, { contract, handlers, security: checksOf(isPatient) })
  return app
}

for (const isPatient of [false, true]) {
  t.test(`with checks that ${isPatient ? 'have to wait' : 'know at once'}`, async (t) => {
    const app = await start(t, isPatient)
    for (const [i, [title, , { query, ...headers }, expected]] of rows.entries()) {
      const url = `/rows/${i}${query === undefined ? '' : `?${query}`}`
      for (const method of ['GET', 'HEAD'] as const) {
        const response = await app.inject({ method, url, headers: headers as Record<string, string> })
        t.strictSame(seenIn(response, method), expectedOf(expected, method), `${title}, ${method}`)
      }
    }
  })
}

type Response = Awaited<ReturnType<FastifyInstance['inject']>>

function seenIn({ statusCode, headers, payload }: Response, method: string): object {
  const callers = Buffer.from(String(headers['x-callers']), 'base64').toString()
  if (statusCode === 200) return { status: 200, callers }
  const code = method === 'HEAD' ? undefined : JSON.parse(payload).code
  return { status: statusCode, code, challenge: headers['www-authenticate'] ?? '' }
}

function expectedOf(expected: Expected, method: string): object {
  if (typeof expected === 'string') return { status: 200, callers: expected }
  const [status, code, challenge = ''] = expected
  return { status, code: method === 'HEAD' ? undefined : code, challenge }
}
