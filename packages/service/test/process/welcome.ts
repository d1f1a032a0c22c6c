// The message at startup if no key is created. test/main.ts tests it with a key.

import t from 'tap'
import { stringify } from 'yaml'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import type { Database } from '../../src/database/database.js'
import { welcome } from '../../src/process/welcome.js'

const contractWith = (security: readonly object[]) =>
  readServiceContract('openapi.yaml', async () =>
    stringify({
      openapi: '3.1.0',
      info: { title: 'Toys', version: '1' },
      servers: [{ url: '/v1' }],
      security,
      paths: { '/toys': { get: { operationId: 'list', responses: { 204: { description: 'Done.' } } } } },
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer' }, token: { type: 'oauth2', flows: {} } },
      },
    }),
  )

// It has no functions: asking it for a key would fail.
const database = (parts: object) => parts as Database
const embedded = database({ embedded: true })
const origin = 'http://127.0.0.1:3000'
const head = `Toys 1 at ${origin}/v1\nInteractive documentation: ${origin}/docs\n`
const notOurs = () => ({ caller: () => undefined })

t.test('no key is made where no scheme is one of keys', async (t) => {
  const schemes = { token: notOurs }
  t.equal(
    await welcome(await contractWith([{ token: [] }]), embedded, { origin, schemes }),
    `${head}To try it, list needs "Authorization: Bearer <TOKEN>" (token)\n`,
  )
  const open = `${head}Try it:\n  curl -i -w '\\n' ${origin}/v1/toys\n`
  t.equal(await welcome(await contractWith([]), embedded, { origin, schemes: {} }), open)
  const unused = { key: apiKeys() }
  t.equal(
    await welcome(await contractWith([]), embedded, { origin, schemes: unused }),
    open,
    'nor one that is not used',
  )
})

t.test("an operator's database gets no key, and its contract no call", async (t) => {
  const given = { origin, publicUrl: 'https://toys.example/v1', schemes: { key: apiKeys() } }
  t.equal(
    await welcome(await contractWith([{ key: [] }]), database({ embedded: false }), given),
    head.replaceAll(origin, 'https://toys.example'),
  )
})
