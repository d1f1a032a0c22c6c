// `/.well-known/security.txt` (RFC 9116).

import { contractWith, done } from 'contract-testing/engine'
import Fastify from 'fastify'
import t from 'tap'
import { addSecurityTxt } from '../../src/http/security-txt.js'
import { startNotes } from '../fixtures/notes.js'
import { send } from '../fixtures/service.js'

const path = '/.well-known/security.txt'
const contacts = 'mailto:security@store.example,https://store.example/security'

t.test('with contacts, they are named, for less than a year', async (t) => {
  const { origin } = await startNotes(t, { SECURITY_CONTACT: contacts })
  const answer = await send(origin + path)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
  const [first, second, expires = '', end, ...others] = answer.text.split('\n')
  t.strictSame(
    [first, second, end, others],
    ['Contact: mailto:security@store.example', 'Contact: https://store.example/security', '', []],
  )
  const [, date = ''] = /^Expires: (\d{4}-\d\d-\d\dT[\d:.]+Z)$/.exec(expires) ?? []
  const days = (Date.parse(date) - Date.now()) / 86_400_000
  t.ok(days > 29 && days < 365, expires)
})

t.test('without contacts there is no such file', async (t) => {
  const { origin } = await startNotes(t)
  t.match(await send(origin + path), { status: 404, body: { code: 'route_not_found', status: 404 } })
})

t.test('an operation at its path takes precedence', async (t) => {
  const app = Fastify()
  const contract = await contractWith({ own: { method: 'get', path, responses: done } })
  addSecurityTxt(app, contract, { securityContacts: ['https://store.example/security'] })
  t.equal((await app.inject(path)).statusCode, 404, 'it is left to the operation')
})
