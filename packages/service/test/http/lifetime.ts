import Fastify from 'fastify'
import t from 'tap'
import { Lifetimes } from '../../src/http/lifetime.js'
import { Streams } from '../../src/http/streams.js'

const timeouts = {
  requestTimeoutMs: 30_000,
  handlerTimeoutMs: 30_000,
  uploadRateMin: 0,
  statementTimeoutMs: 10_000,
}

const methods: [method: 'GET' | 'POST' | 'DELETE' | 'HEAD', waits: boolean][] = [
  ['GET', false],
  ['HEAD', false],
  ['POST', true],
  ['DELETE', true],
]

for (const [method, waits] of methods)
  t.test(
    `a request ${waits ? 'that may have' : 'without'} a body has ${waits ? 'a' : 'no'} phase to wait for it: ${method}`,
    async (t) => {
      const app = Fastify()
      t.teardown(() => app.close())
      const lifetimes = new Lifetimes({ usual: timeouts }, new Streams(1_000))
      lifetimes.add(app)
      const phases: unknown[] = []
      app.addHook('onRoute', (route) => {
        if (route.method === method) phases.push(...[route.preParsing ?? []].flat())
      })
      await app.register(async (scope) => {
        scope.route({ method, url: '/', handler: async () => 'text' })
      })
      const { statusCode } = await app.inject({ method, url: '/' })
      t.equal(statusCode, 200)
      t.equal(phases.length, waits ? 1 : 0)
    },
  )
