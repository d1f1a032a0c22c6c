import t from 'tap'
import { stringify } from 'yaml'
import { readServiceContract } from '../../../src/auth/plans.js'
import { schemesModule } from '../../../tools/create/schemes.js'
import { chooseChecks } from '../../../tools/lib/choose-checks.js'
import { listedIn } from '../../../tools/lib/schemes.js'

const schemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  other: { type: 'http', scheme: 'Bearer' },
  jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'Jwt' },
  oauth2: { type: 'oauth2', flows: {} },
  openId: {
    type: 'openIdConnect',
    openIdConnectUrl: 'https://login.example/.well-known/openid-configuration',
  },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  sameHeader: { type: 'apiKey', in: 'header', name: 'x-key' },
  'other-header': { type: 'apiKey', in: 'header', name: 'X-Secret' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'key' },
  basic: { type: 'http', scheme: 'basic' },
  digest: { type: 'http', scheme: 'digest' },
  tls: { type: 'mutualTLS' },
}

type Requirements = readonly (readonly (keyof typeof schemes)[])[]

const requirements = (alternatives: Requirements) =>
  alternatives.map((names) => Object.fromEntries(names.map((name) => [name, []])))

// Creates a contract with an operation for each list of alternatives.
function contractOf(operations: readonly Requirements[], own?: Requirements) {
  const paths = operations.map((alternatives, i) => {
    const get = { security: requirements(alternatives), responses: { 200: { description: 'Done.' } } }
    return [`/${i}`, { get }]
  })
  const document = {
    openapi: '3.1.0',
    info: { title: 'Toys', version: '1' },
    ...(own && { security: requirements(own) }),
    paths: Object.fromEntries(paths),
    components: { securitySchemes: schemes },
  }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

const checks: readonly [
  title: string,
  operations: readonly Requirements[],
  checks: Readonly<Record<string, string>>,
  left: Readonly<Record<string, RegExp>>,
  own?: Requirements,
][] = [
  ['a bearer scheme', [[['bearer']]], { bearer: 'apiKeys' }, {}],
  ['no scheme', [[], [[]]], {}, {}],
  [
    'keys in a header, or as a bearer token',
    [[['header'], ['bearer'], []]],
    { header: 'apiKeys', bearer: 'apiKeys' },
    {},
  ],
  [
    'keys in two headers',
    [[['header']], [['other-header']]],
    { header: 'apiKeys', 'other-header': 'apiKeys' },
    {},
  ],
  ['keys or tokens', [[['bearer'], ['oauth2']]], { bearer: 'apiKeys', oauth2: 'jwt' }, {}],
  ['keys and tokens', [[['header', 'openId']]], { header: 'apiKeys', openId: 'jwt' }, {}],
  ['bearer tokens that are JWTs', [[['jwt']]], { jwt: 'jwt' }, {}],
  [
    'keys that must be sent together',
    [[['header', 'other-header', 'jwt']]],
    { jwt: 'jwt' },
    {
      header: /^apiKey in header: a check of your own, .* together with other-header and jwt$/,
      'other-header': / together with header and jwt$/,
    },
  ],
  [
    'two bearer schemes',
    [[['bearer']], [['other']]],
    {},
    {
      bearer:
        /^http bearer: apiKeys\(\) for one of it and other: a credential would meet them all; or for each a check of your own that recognizes its credentials$/,
      other: /^http bearer: apiKeys\(\) for one of it and bearer/,
    },
  ],
  [
    'two bearer schemes, of which the document’s own security names one',
    [[['other']], [['bearer']]],
    { bearer: 'apiKeys' },
    { other: /^http bearer: apiKeys\(\) for one/ },
    [['bearer']],
  ],
  [
    'one header in two cases',
    [[['header'], ['sameHeader']]],
    {},
    { header: /for one of it/, sameHeader: /for one of it/ },
  ],
  [
    'three schemes of tokens',
    [[['jwt'], ['oauth2']], [['openId']]],
    {},
    {
      jwt: /^http bearer: jwt\(\) for one of it and oauth2, openId: .* or for each jwt\(\{ issuer \}\) if each has its own issuer, jwt\(\{ type \}\) if the typ of their tokens differs, or a check of your own/,
      oauth2: /^oauth2: jwt\(\) for one of it and jwt, openId: /,
      openId: /^openIdConnect: jwt\(\) for one of it and jwt, oauth2: /,
    },
  ],
  [
    'what no check of the service fits',
    [[['query'], ['cookie'], ['basic'], ['digest'], ['tls']]],
    {},
    {
      query: /^apiKey in query: a check of your own$/,
      cookie: /^apiKey in cookie: a check of your own$/,
      basic: /^http basic: basic\(verify\), /,
      digest: /^http digest: a check of your own$/,
      tls: /^mutualTLS: the server cannot check it$/,
    },
  ],
]

for (const [title, operations, expected, left, own] of checks)
  t.test(`the list of a new project begins with the checks of ${title}`, async (t) => {
    const chosen = chooseChecks(await contractOf(operations, own))
    t.strictSame(Object.fromEntries(chosen.checks), expected)
    t.strictSame([...chosen.left.keys()].sort(), Object.keys(left).sort())
    t.match(Object.fromEntries(chosen.left), left)
  })

t.test(
  'the list has these checks, with what they import, and says what to do about other schemes',
  async (t) => {
    const write = async (operations: readonly Requirements[]) =>
      schemesModule(chooseChecks(await contractOf(operations)))
    const written = await write([[['bearer'], ['oauth2'], ['basic']], [['other-header']]])
    t.strictSame(Object.fromEntries(listedIn(written)), {
      bearer: 'apiKeys()',
      oauth2: 'jwt()',
      'other-header': 'apiKeys()',
    })
    t.match(written, /^ {2}\/\/ basic: http basic: basic\(verify\), .*\n\}/m)
    t.match(written, "import { apiKeys, jwt } from 'contract-service/checks'\n")
    const odd = schemesModule({ checks: new Map([['a$&b', 'apiKeys']]), left: new Map([['$`', 'no']]) })
    t.strictSame([...listedIn(odd)], [['a$&b', 'apiKeys()']])
    t.match(odd, '  // $`: no\n}')
    const tokens = await write([[['jwt']]])
    t.notMatch(tokens, 'apiKeys')
    const none = await write([[]])
    t.equal(listedIn(none).size, 0)
    t.notMatch(none, /apiKeys|jwt/)
  },
)
