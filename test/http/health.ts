import { on } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { Sql } from '../../src/database/database.js'
import { migrationNames } from '../../src/database/migration.js'
import { codedError, connectFailure } from '../../src/database/unavailable.js'
import { addHealth } from '../../src/http/health.js'
import { migrationsFolder } from '../../src/lib/paths.js'
import type { RequestError } from '../../src/openapi/index.js'
import { healthOf } from '../../src/telemetry/metrics-server.js'
import { contractWith, done } from '../fixtures/engine.js'
import { type Answer, contract, send } from '../fixtures/service.js'

const names = await migrationNames(migrationsFolder)

type Query = (text: string) => Promise<object[]>

const answerWell: Query = async (text) =>
  text.includes('to_regclass') ? [{ name: 'schema_migrations' }] : names.map((name) => ({ name }))

interface Routes {
  ask(): Promise<Answer>
  /** What the database was asked. */
  readonly asked: string[]
  /** Makes the database answer differently. */
  answer(query: Query): void
  /** Resolves when so many more have asked. */
  arrived(count: number): Promise<void>
}

async function start(t: Test): Promise<Routes> {
  let query = answerWell
  const asked: string[] = []
  const sql = (strings: TemplateStringsArray) => {
    asked.push(strings.join('$'))
    return query(strings.join('$'))
  }
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) => {
    const { code, statusCode, cause } = error as RequestError
    return reply.code(statusCode).send({ code, reason: (cause as Error).message })
  })
  const counters = { state: () => 'memory' as const }
  await addHealth(app, contract, {
    sql: sql as unknown as Sql,
    probe: async () => {},
    counters,
    isClosing: () => false,
  })
  t.teardown(() => app.close())
  const origin = await app.listen()
  const arrived = async (count: number) => {
    for await (const _ of on(app.server, 'request')) if (--count === 0) return
  }
  return {
    arrived,
    ask: () => send(`${origin}/readyz`),
    asked,
    answer: (how) => {
      query = how
    },
  }
}

t.test("an operation may have a path of the service's own, which moves", async (t) => {
  const health = { method: 'get', path: '/readyz', responses: done }
  const taken = await contractWith({ ready: health })
  const app = Fastify()
  const parts = {
    probe: async () => {},
    counters: { state: () => 'memory' as const },
    isClosing: () => false,
  }
  await addHealth(app, taken, { ...parts, sql: (async () => []) as unknown as Sql })
  app.get('/readyz', async () => 'theirs')
  t.teardown(() => app.close())
  t.match(await app.inject('/readyz'), { statusCode: 200, payload: 'theirs' })
  t.match(await app.inject('/healthz'), { statusCode: 200 })
  t.match(await app.inject('/-/readyz'), { statusCode: 503 }, 'no migrations, and no error handler')
  t.match(await healthOf(app, taken)('/readyz'), { status: 503 }, 'also on the port for metrics')
})

const causes: [code: string, cause: string][] = [
  ['CONNECTION_STALLED', 'stalled'],
  ['57014', 'no_answer'],
  ['28000', 'login'],
  ['28P01', 'login'],
  ['53300', 'connections'],
  ['42501', 'privileges'],
  ['42P01', 'schema'],
  ['42703', 'schema'],
  ['25006', 'standby'],
  ['57P01', 'unreachable'],
  ['ECONNREFUSED', 'unreachable'],
  ['53100', 'other'],
  ['', 'other'],
]

t.test('the cause of not being ready is told by the error of the probe, and ends with it', async (t) => {
  let failure: Error | undefined
  const findUnready = await addHealth(Fastify(), contract, {
    sql: (async ([text]: TemplateStringsArray) => answerWell(String(text))) as unknown as Sql,
    probe: async () => {
      if (failure !== undefined) throw failure
    },
    counters: { state: () => 'memory' },
    isClosing: () => false,
  })
  for (const [code, cause] of causes) {
    failure = codedError(code, 'it is broken')
    t.strictSame(await findUnready(), { cause, error: failure }, code)
  }
  failure = connectFailure(codedError('CERT_HAS_EXPIRED', 'certificate has expired'))
  t.match(await findUnready(), { cause: 'unreachable' })
  failure = undefined
  t.equal(await findUnready(), undefined)
})

const unavailable = { status: 503, body: { code: 'unavailable' } }

t.test('/readyz responds 503 and logs the timeout when the database does not answer', async (t) => {
  const { ask, answer } = await start(t)
  answer(() => new Promise(() => {}))
  t.match(await ask(), { status: 503, body: { reason: 'no answer in 1000 ms' } })
})

t.test('a hundred concurrent /readyz requests cost one query, and read no file', async (t) => {
  const { ask, asked, answer, arrived } = await start(t)
  await ask()
  const once = asked.splice(0)
  const read: unknown[] = []
  const { readdir, readFile } = fs.promises
  t.teardown(() => {
    Object.assign(fs.promises, { readdir, readFile })
    syncBuiltinESMExports()
  })
  const refuse = (file: unknown) => {
    read.push(file)
    throw new Error('nothing is read')
  }
  Object.assign(fs.promises, { readdir: refuse, readFile: refuse })
  syncBuiltinESMExports()
  const allAsked = arrived(100)
  answer(async (text) => {
    await allAsked
    return answerWell(text)
  })
  const responses = await Promise.all(Array.from({ length: 100 }, () => ask()))
  t.strictSame([...new Set(responses.map(({ status }) => status))], [200])
  t.strictSame(asked, once)
  t.strictSame(read, [])
})

t.test('the service is ready again once a failed database answers', async (t) => {
  const { ask, answer } = await start(t)
  answer(() => Promise.reject(new Error('it is away')))
  t.match(await ask(), unavailable)
  answer(answerWell)
  t.match(await ask(), { status: 200 })
  answer(async (text) => (await answerWell(text)).slice(0, 1))
  t.match(await ask(), unavailable, 'nor is it ready where migrations are missing')
})

t.test('a hanging database does not block the next probe', async (t) => {
  const { ask, answer, asked } = await start(t)
  answer(() => new Promise(() => {}))
  const responses = await Promise.all([ask(), ask()])
  t.match(responses, [unavailable, unavailable])
  t.equal(asked.length, 1)
  answer(answerWell)
  t.match(await ask(), { status: 200 })
})
