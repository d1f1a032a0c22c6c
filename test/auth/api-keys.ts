// API keys as callers see them: what the animals' contract promises about them.

import { createApiKey } from 'contract-service/internal/auth/api-key'
import t from 'tap'
import { send, startService } from '../fixtures/service.js'

const missing = {
  code: 'missing_api_key',
  message: 'Send an API key: "Authorization: Bearer <API_KEY>".',
  challenge: 'Bearer realm="Animal Store Service"',
}
const description = 'The API key is mistyped, unknown, expired or revoked'
const invalid = {
  code: 'invalid_api_key',
  message: `${description}.`,
  challenge: `Bearer realm="Animal Store Service", error="invalid_token", error_description="${description}"`,
}

t.test('a request gets 401 unless it has a valid bearer key', async (t) => {
  const { base, key, createKey, sql } = await startService(t)
  const revoked = await createKey()
  await sql`update api_keys set revoked_at = now() where id = ${revoked.id}`
  const expired = await createKey({ expiresAt: new Date(0) })
  const other = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  const cases: readonly [title: string, authorization: string | undefined, expected: typeof missing][] = [
    ['no header', undefined, missing],
    ['an empty header', '', missing],
    ['the scheme alone', 'Bearer', missing],
    ['the scheme and blanks', 'Bearer  ', missing],
    ['another scheme', `Basic ${key}`, missing],
    ['the key alone', key, missing],
    ['the key without a blank', `Bearer${key}`, missing],
    ['two keys', `Bearer ${key} ${key}`, missing],
    ['a word', 'Bearer nonsense', invalid],
    ['a mistyped key', `Bearer ${other}`, invalid],
    ['an unknown key', `Bearer ${createApiKey()}`, invalid],
    ['a revoked key', `Bearer ${revoked.key}`, invalid],
    ['an expired key', `Bearer ${expired.key}`, invalid],
  ]
  for (const [title, authorization, { code, message, challenge }] of cases) {
    const { status, headers, text } = await send(`${base}/pets`, 'GET', {
      ...(authorization !== undefined && { authorization }),
    })
    t.equal(status, 401, title)
    t.equal(text, JSON.stringify({ code, message, status: 401 }), title)
    t.equal(headers.get('www-authenticate'), challenge, title)
  }
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  '])
    t.equal((await send(`${base}/pets`, 'GET', { authorization: `${scheme} ${key}` })).status, 200, scheme)
  // Proxies would log a key in a URL.
  t.equal((await send(`${base}/pets?authorization=Bearer%20${key}`, 'GET')).status, 401)
})
