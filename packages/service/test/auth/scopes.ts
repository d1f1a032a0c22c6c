import t from 'tap'
import { stringify } from 'yaml'
import { readServiceContract } from '../../src/auth/plans.js'
import { scopesOf } from '../../src/auth/scopes.js'

const get = (security?: object[]) => ({
  get: { ...(security && { security }), responses: { 200: { description: 'Done.' } } },
})

function contractOf(security: object[] | undefined, paths: object) {
  const flow = (...scopes: string[]) => ({
    tokenUrl: 'https://issuer.example/token',
    scopes: Object.fromEntries(scopes.map((scope) => [scope, 'What it allows.'])),
  })
  const flows = { clientCredentials: flow('profile', 'read'), password: flow('offline') }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Things', version: '1.0.0' },
    ...(security && { security }),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' }, user: { type: 'oauth2', flows } },
    },
  }
  return readServiceContract('openapi.yaml', async () => stringify(document))
}

t.test('scopes are those that operations demand of any scheme, and those that flows declare', async (t) => {
  const paths = {
    '/a': get([{ key: ['write', 'admin'], user: ['read'] }, { user: ['a:b'] }]),
    '/b': get([{}]),
    '/c': get(),
  }
  t.strictSame(scopesOf(await contractOf([{ key: ['write', 'of the document'] }], paths)), [
    'a:b',
    'admin',
    'of the document',
    'offline',
    'profile',
    'read',
    'write',
  ])
})
