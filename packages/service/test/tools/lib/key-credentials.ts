import t from 'tap'
import { keyCredentials } from '../../../tools/lib/key-credentials.js'

const securitySchemes = new Map(
  Object.entries({
    header: { type: 'apiKey', in: 'header', name: 'Shop-Key' },
    cookie: { type: 'apiKey', in: 'cookie', name: 'shop' },
    session: { type: 'apiKey', in: 'cookie', name: 'session' },
    query: { type: 'apiKey', in: 'query', name: 'shop key' },
    bearer: { type: 'http', scheme: 'bearer' },
    tokens: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  }),
)
const sent = (listed: Readonly<Record<string, string>>) =>
  keyCredentials('a+1', new Map(Object.entries(listed)), { securitySchemes })

t.test('a key is sent as the schemes say that apiKeys() checks', async (t) => {
  t.strictSame(sent({ header: 'apiKeys()' }), { headers: { 'Shop-Key': 'a+1' }, query: '' })
  t.strictSame(sent({ bearer: 'apiKeys()' }), { headers: { Authorization: 'Bearer a+1' }, query: '' })
  t.strictSame(sent({ query: 'apiKeys()' }), { headers: {}, query: 'shop+key=a%2B1' })
  const all = { cookie: 'apiKeys()', session: 'apiKeys()', header: 'apiKeys()', tokens: 'jwt()' }
  t.strictSame(sent(all), { headers: { 'Shop-Key': 'a+1', cookie: 'shop=a+1; session=a+1' }, query: '' })
})

t.test('a key is a bearer token where no scheme is known to take it', async (t) => {
  const bearer = { headers: { Authorization: 'Bearer a+1' }, query: '' }
  t.strictSame(sent({}), bearer)
  t.strictSame(sent({ header: 'ours()', query: 'jwt()' }), bearer)
})
