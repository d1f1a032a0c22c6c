// The security headers. Those about TLS are sent only if callers use it.

import t from 'tap'
import { startNotes } from '../fixtures/notes.js'
import { send, sendRaw } from '../fixtures/service.js'

const hsts = 'strict-transport-security'
const unknown = '/no-such-path'

const cases: [title: string, env: Record<string, string>, proto: string | undefined, isSent: boolean][] = [
  ['not over plain HTTP', {}, undefined, false],
  ['not for a caller who claims TLS', {}, 'https', false],
  ['not for a peer that is no trusted proxy', { TRUST_PROXY: '10.0.0.0/8' }, 'https', false],
  ['behind a trusted proxy that was reached by TLS', { TRUST_PROXY: 'loopback' }, 'https', true],
  ['behind any proxy that was reached by TLS', { TRUST_PROXY: 'true' }, 'http, HTTPS', true],
  ['not behind a trusted proxy that was reached without', { TRUST_PROXY: 'true' }, 'https, http', false],
  ['not behind a trusted proxy that says nothing', { TRUST_PROXY: 'true' }, undefined, false],
  ['at a public URL with TLS', { PUBLIC_URL: 'https://store.example/v1' }, undefined, true],
  [
    'not at a public URL without',
    { PUBLIC_URL: 'http://store.example/v1', TRUST_PROXY: 'true' },
    'https',
    false,
  ],
]

for (const [title, env, proto, isSent] of cases)
  t.test(`browsers are told to keep to TLS ${title}`, async (t) => {
    const { origin, base } = await startNotes(t, env)
    const headers: Record<string, string> = proto === undefined ? {} : { 'x-forwarded-proto': proto }
    for (const url of [`${origin}/healthz`, `${base}/notes`, origin + unknown]) {
      const answer = await send(url, 'GET', headers)
      t.equal(answer.headers.get(hsts), isSent ? 'max-age=31536000' : null, url)
      t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    }
    const isKnown = env.PUBLIC_URL?.startsWith('https:') === true
    const malformed = await sendRaw(origin, 'no HTTP\r\n\r\n')
    t.match(malformed, /^HTTP\/1\.1 400 /)
    t.equal(malformed.includes(`\r\n${hsts}: `), isKnown, 'below Fastify, by the URL alone')
  })

t.test('a preflight has them, too', async (t) => {
  const env = { CORS_ORIGINS: 'https://shop.example', PUBLIC_URL: 'https://store.example/v1' }
  const { base } = await startNotes(t, env)
  const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'GET' }
  const answer = await send(`${base}/notes`, 'OPTIONS', preflight)
  t.equal(answer.status, 204)
  t.equal(answer.headers.get(hsts), 'max-age=31536000')
})
