// How Fastify waits for responses that are sent at once, later, or not at all.

import { createHook } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'
import { RequestError } from 'contract-engine'
import { buildEngine, contractWith, done } from 'contract-testing/engine'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'

async function sendTo(t: Test, respond: () => unknown, prepare: (app: FastifyInstance) => void) {
  const contract = await contractWith({ any: { method: 'get', responses: done } })
  const app = await buildEngine(contract, () => respond)
  t.teardown(() => app.close())
  prepare(app)
  return app.inject('/any')
}

t.test('from its handler to what is sent, a response takes three promises', async (t) => {
  let made = 0
  const counted = createHook({ init: (_id, type) => void (type === 'PROMISE' && made++) })
  const answer = Promise.resolve({ status: 204 })
  const { statusCode } = await sendTo(
    t,
    () => {
      counted.enable()
      return answer
    },
    (app) =>
      app.addHook('onSend', (_request, _reply, _payload, next) => {
        counted.disable()
        next()
      }),
  )
  t.strictSame([statusCode, made], [204, 3])
})

const thrown = (error: unknown) => () => {
  throw error
}
const rejected = (error: unknown) => async () => thrown(error)()
const cases: [title: string, respond: () => unknown, status: number][] = [
  ['a response', async () => ({ status: 204 }), 204],
  ['an error', rejected(new RequestError<string>('not_here', 'No.')), 404],
  ['an error before there is a promise', thrown(new RequestError<string>('not_here', 'No.')), 404],
  ['what is thrown and no error', rejected('text'), 500],
  ['an undeclared response', async () => ({ status: 200, body: 1 }), 500],
  ['nothing', async () => undefined, 500],
]
for (const [title, respond, status] of cases) {
  t.test(`${title} is sent once, by hooks that take their time, too`, async (t) => {
    for (const wait of [async () => {}, () => setImmediate()]) {
      let sent = 0
      const { statusCode } = await sendTo(t, respond, (app) =>
        app.addHook('onSend', async () => {
          sent++
          await wait()
        }),
      )
      t.strictSame([statusCode, sent], [status, 1])
    }
  })
}

const late: [title: string, respond: () => unknown][] = [
  ['a response', () => ({ status: 204 })],
  ['an undeclared response', () => ({ status: 200, body: 1 })],
  ['nothing', () => undefined],
  ['an error', thrown(new RequestError<string>('not_here', 'No.'))],
  ['what is thrown and no error', thrown('text')],
]
for (const [title, respond] of late) {
  t.test(`${title} that comes behind another response is dropped, and no fault`, async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const handler = { begin: () => {}, end: () => {} }
    const begun = new Promise<void>((resolve) => (handler.begin = resolve))
    const ended = new Promise<void>((resolve) => (handler.end = resolve))
    const contract = await contractWith({ any: { method: 'get', responses: done } })
    const run = () => {
      handler.begin()
      return ended.then(respond)
    }
    const app = await buildEngine(contract, () => run, log)
    t.teardown(() => app.close())
    const replies: FastifyReply[] = []
    app.addHook('onRequest', (_request, reply, next) => {
      replies.push(reply)
      next()
    })
    const answer = app.inject('/any')
    await Promise.race([begun, answer])
    void replies[0]?.code(503).send()
    t.equal((await answer).statusCode, 503)
    handler.end()
    await setImmediate()
    await setImmediate()
    t.strictSame(lines, [])
  })
}
