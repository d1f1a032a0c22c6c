// How callers learn about security schemes: in the samples, in the text and on the page.

import { Reader } from 'contract-engine/tools'
import { contractWith, startEngine } from 'contract-testing/engine'
import t from 'tap'
import { exampleRequest } from '../../../src/compile/documents/example-request.js'
import { pageDocument } from '../../../src/compile/documents/page-document.js'

const done = { 204: { description: 'Done.' } }

const url = 'https://login.example/oauth'
const securitySchemes = {
  token: { type: 'http', scheme: 'bearer' },
  jwt: { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT', description: 'A JWT\n of ours.' },
  login: { type: 'http', scheme: 'basic' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  oauth: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: `${url}/authorize`,
        tokenUrl: `${url}/token`,
        refreshUrl: 'https://refresh.example/',
        scopes: { 'toys:read': 'Read toys.', 'toys:write': 'Write toys.' },
      },
      clientCredentials: { tokenUrl: '/token', scopes: {} },
    },
  },
  oidc: {
    type: 'openIdConnect',
    openIdConnectUrl: 'https://id.example:8443/.well-known/openid-configuration',
  },
  certificate: { type: 'mutualTLS' },
}

const cookies = { in: 'cookie', required: true, example: 'b', schema: { type: 'string' } }
const operations = {
  ...Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, [{ [name]: [] }]])),
  both: [{ header: [], login: [], query: [], cookie: [] }, { token: [] }],
  scoped: [{ oauth: ['toys:read', 'toys:write'] }, { jwt: ['admin'], header: [] }, {}],
  free: [{}, { token: [] }],
  open: [],
}
const all = Object.entries(operations).map(([id, security]) => {
  const parameters = id === 'both' ? [{ name: 'seen', ...cookies }] : []
  return [id, { method: 'get', security, parameters, description: 'Does it.', responses: done }]
})
const contract = await contractWith(Object.fromEntries(all), { components: { securitySchemes } })

for (const [id, expected] of Object.entries({
  token: { headers: [['Authorization', 'Bearer YOUR_KEY']] },
  jwt: { headers: [['Authorization', 'Bearer YOUR_TOKEN']] },
  login: { login: { username: 'YOUR_USERNAME', password: 'YOUR_PASSWORD' } },
  header: { headers: [['X-Key', 'YOUR_KEY']] },
  query: { target: '/query?api%20key=YOUR_KEY' },
  cookie: { headers: [['Cookie', 'sid=YOUR_KEY']] },
  oauth: { headers: [['Authorization', 'Bearer YOUR_TOKEN']] },
  oidc: { headers: [['Authorization', 'Bearer YOUR_TOKEN']] },
  certificate: {},
  both: {
    target: '/both?api%20key=YOUR_KEY',
    headers: [
      ['X-Key', 'YOUR_KEY'],
      ['Cookie', 'sid=YOUR_KEY; seen=b'],
    ],
    login: { username: 'YOUR_USERNAME', password: 'YOUR_PASSWORD' },
  },
  free: {},
  open: {},
}))
  t.test(`a sample of ${id} has all credentials of the first alternative`, async (t) => {
    const operation = contract.operations.get(id)
    const request = operation && exampleRequest(operation, contract, new Reader(contract.document))
    const nothing = { method: 'GET', target: `/${id}`, headers: [], login: undefined, body: undefined }
    t.strictSame(request, { ...nothing, isStream: false, ...expected })
  })

t.test('the text says of each scheme how its credential is got and sent', async (t) => {
  const { origin } = await startEngine(t, contract, {})
  const text = await (await fetch(`${origin}/llms.txt`)).text()
  for (const line of [
    '- `token` (http bearer): Send the token in the header `Authorization: Bearer …`.',
    '- `jwt` (http bearer): Send the token (JWT) in the header `Authorization: Bearer …`. A JWT of ours.',
    '- `login` (http basic): Send a user name and a password by HTTP Basic.',
    '- `header` (apiKey in header): Send the key in the header `X-Key`.',
    '- `query` (apiKey in query): Send the key in the query parameter `api key`.',
    '- `cookie` (apiKey in cookie): Send the key in the cookie `sid`.',
    `- \`oauth\` (oauth2): Send the token in the header \`Authorization: Bearer …\`. Flow \`authorizationCode\`: authorizationUrl ${url}/authorize, tokenUrl ${url}/token, refreshUrl https://refresh.example/; scopes: \`toys:read\` (Read toys.), \`toys:write\` (Write toys.). Flow \`clientCredentials\`: tokenUrl /token.`,
    `- \`oidc\` (openIdConnect): Send the token in the header \`Authorization: Bearer …\`. OpenID Connect: ${securitySchemes.oidc.openIdConnectUrl}.`,
    '- `certificate` (mutualTLS): A certificate of the client, by TLS.',
    '`scoped`. Security: `oauth` (toys:read, toys:write) or `jwt` (admin) and `header` or none.',
    '`both`. Security: `header` and `login` and `query` and `cookie` or `token`.',
    '`free`. Security: none or `token`.',
    '`open`. Security: none.',
  ])
    t.ok(text.split('\n').includes(line), line)
})

t.test('the page may ask for tokens, with PKCE, and tells the scopes of an operation', async (t) => {
  const { origin } = await startEngine(t, contract, {})
  const policy = (await fetch(`${origin}/docs`)).headers.get('content-security-policy') ?? ''
  t.ok(
    policy.split('; ').includes("connect-src 'self' https://login.example https://refresh.example"),
    policy,
  )
  const { paths, components } = JSON.parse(pageDocument(contract, {}))
  const { oauth, oidc } = components.securitySchemes
  t.strictSame([oidc.type, oidc.scheme], ['http', 'bearer'], 'Scalar asks for the token')
  const { flows } = oauth
  t.equal(flows.authorizationCode['x-usePkce'], 'SHA-256')
  t.equal(flows.clientCredentials['x-usePkce'], undefined)
  const scopes = 'Security: `oauth` (toys:read, toys:write) or `jwt` (admin) and `header` or none.'
  t.equal(paths['/scoped'].get.description, `Does it.\n\n${scopes}`)
  t.equal(paths['/both'].get.description, 'Does it.')
})

t.test('a policy names no other origin, and a flow keeps what its author says of PKCE', async (t) => {
  const flow = { authorizationUrl: 'https://a.example/', tokenUrl: '/token', scopes: {}, 'x-usePkce': 'no' }
  const more = {
    components: { securitySchemes: { door: { type: 'oauth2', flows: { authorizationCode: flow } } } },
  }
  const contract = await contractWith(
    { get: { method: 'get', security: [{ door: [] }], responses: done } },
    more,
  )
  const { origin } = await startEngine(t, contract, {})
  t.match((await fetch(`${origin}/docs`)).headers.get('content-security-policy'), "; connect-src 'self'; ")
  const { components } = JSON.parse(pageDocument(contract, {}))
  t.equal(components.securitySchemes.door.flows.authorizationCode['x-usePkce'], 'no')
})
