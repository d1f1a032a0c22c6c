import { on } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import type { RequestError } from 'contract-engine'
import { contractWith, done } from 'contract-testing/engine'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { Sql } from '../../src/database/database.js'
import { migrationNames } from '../../src/database/migration.js'
import { codedError, connectFailure } from '../../src/database/unavailable.js'
import { addHealth } from '../../src/http/health.js'
import { createReadiness, type ReadinessParts } from '../../src/http/readiness.js'
import { migrationsFolders } from '../../src/lib/paths.js'
import { healthOf } from '../../src/telemetry/metrics-server.js'
import { contract } from '../fixtures/notes.js'
import { type Answer, send } from '../fixtures/service.js'

const names = await migrationNames(migrationsFolders)

type Query = (text: string) => Promise<object[]>

const answerWell: Query = async (text) =>
  text.includes('to_regclass') ? [{ name: 'schema_migrations' }] : names.map((name) => ({ name }))

type Check = 'keys' | 'reads' | 'writes' | 'migrations'
type Failures = Partial<Record<Check, Error | undefined>>

/**
 * Creates parts whose checks fail as told. `failures` are thrown; `refusals` are returned as errors of a
 * statement.
 */
function partsWith(sql: unknown, failures: Failures = {}, refusals = failures) {
  const pool = (name: Check) => ({
    sql: sql as Sql,
    probe: async () => {
      if (failures[name] !== undefined) throw failures[name]
      return refusals[name]
    },
  })
  const pools: ReadinessParts['pools'] = { keys: pool('keys'), reads: pool('reads'), writes: pool('writes') }
  const counters = { state: () => 'memory' as const }
  const connectError = (): Error | undefined => undefined
  return { pools, counters, isClosing: () => false, connectError, timeoutMs: 1_000 }
}

interface Routes {
  ask(): Promise<Answer>
  /** The statements that the database has received. */
  readonly asked: string[]
  /** Changes the database's answer. */
  answer(query: Query): void
  /** Resolves when so many more statements have arrived. */
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
  await addHealth(app, contract, partsWith(sql))
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
  await addHealth(
    app,
    taken,
    partsWith(async () => []),
  )
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
  ['25006', 'read_only'],
  ['57P01', 'unreachable'],
  ['ECONNREFUSED', 'unreachable'],
  ['53100', 'other'],
  ['', 'other'],
]
const atAStandby = connectFailure(codedError('25006', 'it is a standby'))
const expired = connectFailure(codedError('CERT_HAS_EXPIRED', 'certificate has expired'))

/** Starts a readiness check with failures and refusals that a test sets, and records its log. */
async function startChecks(isClosing = () => false, connectError = (): Error | undefined => undefined) {
  const failures: Failures = {}
  const refusals: Failures = {}
  const sql = async ([text]: TemplateStringsArray) => {
    if (failures.migrations !== undefined) throw failures.migrations
    return answerWell(String(text))
  }
  const log: Record<string, unknown>[] = []
  const stream = { write: (line: string) => void log.push(JSON.parse(line)) }
  const app = Fastify({ logger: { stream } })
  const parts = { ...partsWith(sql, failures, refusals), isClosing, connectError }
  const findFault = await addHealth(app, contract, parts)
  const ask = async () => {
    const { statusCode, body } = await app.inject('/readyz')
    return [statusCode, statusCode === 200 ? JSON.parse(body) : undefined]
  }
  const set = (given: Failures, refused: Failures = {}) => {
    for (const check of ['keys', 'reads', 'writes', 'migrations'] as const) {
      failures[check] = given[check]
      refusals[check] = refused[check]
    }
  }
  return { findFault, ask, set, log }
}

const degraded = (cause: string) => [200, { status: 'degraded', cause, counters: 'memory' }]
const ok = [200, { status: 'ok', counters: 'memory' }]
const refused = [503, undefined]

for (const check of ['keys', 'reads'] as const)
  t.test(`an instance without ${check} is not ready, and the cause is told by the error`, async (t) => {
    const { findFault, ask, set } = await startChecks()
    for (const hasStarted of [false, true]) {
      for (const [code, cause] of causes) {
        const error = codedError(code, 'it is broken')
        set({ [check]: error })
        t.strictSame(await findFault(), { cause, error, isReady: false }, code)
        t.strictSame(await ask(), refused)
      }
      for (const [error, cause] of [
        [atAStandby, 'standby'],
        [expired, 'unreachable'],
      ] as const) {
        set({ [check]: error })
        t.match(await findFault(), { cause, isReady: false })
      }
      set({})
      t.strictSame([await findFault(), await ask()], [undefined, ok], String(hasStarted))
    }
  })

t.test('an instance that serves reads is ready whatever else fails, and says what', async (t) => {
  const { findFault, ask, set } = await startChecks()
  t.strictSame(await ask(), ok)
  for (const check of ['writes', 'migrations'] as const)
    for (const [code, cause] of causes) {
      const error = codedError(code, 'it is broken')
      set({ [check]: error })
      t.strictSame(await findFault(), { cause, error, isReady: true }, `${check} ${code}`)
      t.strictSame(await ask(), degraded(cause))
    }
  for (const check of ['keys', 'reads', 'writes'] as const) {
    set({}, { [check]: codedError('42P01', 'a table of several is missing') })
    t.strictSame(await ask(), degraded('schema'), `a statement of several for ${check}`)
  }
  set({ writes: codedError('42501', 'no insert'), reads: codedError('ECONNREFUSED', 'no server') })
  t.match([await ask(), await findFault()], [refused, { cause: 'unreachable' }], 'the worse of two')
})

t.test('an instance whose open connections serve is degraded if no new one can be opened', async (t) => {
  let connectError: Error | undefined = codedError('ENOTFOUND', 'getaddrinfo ENOTFOUND db.example')
  const { findFault, ask, set } = await startChecks(undefined, () => connectError)
  t.strictSame(await ask(), degraded('new_connection'), 'from the start')
  t.strictSame(await findFault(), { cause: 'new_connection', error: connectError, isReady: true })
  set({ writes: codedError('25006', 'read-only') })
  t.strictSame(await ask(), degraded('read_only'), 'what fails already is told first')
  set({ reads: connectError })
  t.strictSame(await ask(), refused)
  set({})
  connectError = undefined
  t.strictSame(await ask(), ok)
})

t.test('an instance of a wrong release or role is not ready at first', async (t) => {
  const missing = codedError('42P01', 'no such table')
  const denied = codedError('42501', 'permission denied')
  const wrong: [failures: Failures, refusals: Failures][] = [
    [{ migrations: missing }, {}],
    [{ migrations: codedError('57014', 'locked') }, {}],
    [{ writes: missing }, {}],
    [{ writes: denied }, {}],
    [{}, { writes: denied }],
    [{}, { reads: missing }],
  ]
  for (const [failures, refusals] of wrong) {
    const { ask, set } = await startChecks()
    set(failures, refusals)
    t.strictSame([await ask(), await ask()], [refused, refused])
    set({})
    t.strictSame(await ask(), ok)
    set(failures, refusals)
    t.equal((await ask())[0], 200, 'later that is no fault of its own')
  }
})

t.test('an instance may start while the database takes no writes, or has few connections', async (t) => {
  for (const code of ['25006', '53300', 'CONNECTION_STALLED', '57014']) {
    const { ask, set } = await startChecks()
    set({ writes: codedError(code, 'none') })
    t.equal((await ask())[0], 200, code)
  }
})

t.test('an instance that stops is not ready, degraded or not', async (t) => {
  let isStopping = false
  const { findFault, ask, set } = await startChecks(() => isStopping)
  t.strictSame(await ask(), ok)
  set({ writes: codedError('42501', 'permission denied') })
  t.strictSame(await ask(), degraded('privileges'))
  isStopping = true
  t.strictSame(await ask(), refused)
  t.match(await findFault(), { cause: 'closing', isReady: false })
  set({})
  t.strictSame(await ask(), refused)
})

t.test(
  'a slow database leaves the instance ready, and a check that has not ended changes nothing',
  async (t) => {
    const alive = setInterval(() => {}, 1_000)
    t.teardown(() => clearInterval(alive))
    const { pools, ...parts } = partsWith(async ([text]: TemplateStringsArray) => answerWell(String(text)))
    let probe: () => Promise<Error | undefined> = async () => undefined
    const reads = { ...pools.reads, probe: () => probe() }
    const slowParts = { ...parts, pools: { ...pools, reads }, timeoutMs: 3_000 }
    const findFault = createReadiness(slowParts, names)
    t.equal(await findFault(), undefined)
    let end = (_: Error | undefined) => {}
    const take = () => new Promise<Error | undefined>((resolve) => (end = resolve))
    probe = take
    t.match(await findFault(), { cause: 'slow', isReady: true }, 'it may still answer')
    end(undefined)
    probe = async () => undefined
    await setImmediate()
    t.equal(await findFault(), undefined)
    probe = () => Promise.reject(codedError('57014', 'locked'))
    t.match(await findFault(), { cause: 'no_answer', isReady: false })
    probe = take
    t.match(await findFault(), { cause: 'no_answer', isReady: false }, 'until a check has ended well')
    end(undefined)
    probe = async () => undefined
    await setImmediate()
    t.equal(await findFault(), undefined)
  },
)

t.test('what degrades an instance is logged when it begins, changes and ends', async (t) => {
  const { findFault, set, log } = await startChecks()
  const logged = () =>
    log.splice(0).map(({ level, msg, cause, err }) => [level, msg, cause, (err as Error)?.message])
  await findFault()
  t.strictSame(logged(), [])
  set({ writes: codedError('42501', 'permission denied') })
  await Promise.all([findFault(), findFault()])
  await findFault()
  t.strictSame(logged(), [[40, 'degraded', 'privileges', 'permission denied']])
  set({ reads: codedError('ECONNREFUSED', 'no server') })
  await findFault()
  t.strictSame(logged(), [], 'a 503 has a line of its own')
  set({ writes: codedError('25006', 'read-only') })
  await findFault()
  set({})
  await findFault()
  await findFault()
  t.strictSame(logged(), [
    [40, 'degraded', 'read_only', 'read-only'],
    [30, 'no longer degraded', undefined, undefined],
  ])
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
})

t.test('an instance is not ready until it has found all migrations', async (t) => {
  const { ask, answer } = await start(t)
  const allButOne: Query = async (text) => (await answerWell(text)).slice(0, names.length - 1)
  answer(allButOne)
  t.match(await ask(), unavailable)
  answer(answerWell)
  t.match(await ask(), { status: 200 })
  answer(allButOne)
  t.match(await ask(), { status: 200, body: { status: 'degraded', cause: 'schema' } }, 'lost later')
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
