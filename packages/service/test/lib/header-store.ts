import Fastify, { type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { beginHeaders, setHeaders } from '../../src/lib/header-store.js'

async function headersOf(t: Test, set: (reply: FastifyReply) => void) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/', async (_, reply) => {
    set(reply)
    return 'text'
  })
  const { headers } = await app.inject('/')
  const { date: _, connection: __, 'content-type': ___, 'content-length': ____, ...others } = headers
  return others
}

t.test('a reply sends the headers in its store, which Fastify reads, replaces and removes', async (t) => {
  const sent = await headersOf(t, (reply) => {
    beginHeaders(reply, { 'x-one': '1', 'x-two': '2', 'x-three': '3' })
    setHeaders(reply, { 'x-four': '4' }, { 'x-five': '5' })
    t.equal(reply.getHeader('X-One'), '1')
    t.equal(reply.hasHeader('x-four'), true)
    reply.header('X-Two', 'two').removeHeader('x-three')
  })
  t.strictSame(sent, { 'x-one': '1', 'x-two': 'two', 'x-four': '4', 'x-five': '5' })
})

t.test('a header that was set before stays', async (t) => {
  const sent = await headersOf(t, (reply) => {
    reply.header('vary', 'Origin')
    beginHeaders(reply, { 'x-one': '1' })
  })
  t.strictSame(sent, { vary: 'Origin', 'x-one': '1' })
})

t.test('replies share nothing', async (t) => {
  const shared = { 'x-one': '1' }
  const first = await headersOf(t, (reply) => {
    beginHeaders(reply, { ...shared })
    reply.header('x-two', '2')
  })
  const second = await headersOf(t, (reply) => beginHeaders(reply, { ...shared }))
  t.strictSame([first, second], [{ 'x-one': '1', 'x-two': '2' }, shared])
})
