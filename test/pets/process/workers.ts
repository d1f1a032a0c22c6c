// An instance with several workers behaves like one process.

import cluster from 'node:cluster'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, request } from 'node:http'
import net from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import { Workers } from '../../../src/process/workers.js'
import { silent } from '../../fixtures/cluster.js'
import { dataDirectory } from '../../fixtures/data-directory.js'
import { isRunning } from '../../fixtures/leftovers.js'
import { runProgram, type ServiceProcess, signalGroup, startProcess } from '../../fixtures/process.js'
import { contract, send } from '../../fixtures/service.js'
import { until } from '../../fixtures/until.js'
import { countBy } from '../fixtures/count.js'
import { customPlan, fixedPlan } from '../fixtures/facts.js'

const workers = 2

async function start(t: Test, env: Record<string, string> = {}, detached = false) {
  const dataDir = dataDirectory(t)
  const all = { DATA_DIR: dataDir, WORKERS: String(workers), HANDLER_TIMEOUT_MS: '120000', ...env }
  const service = await startProcess(t, all, { detached })
  const key = async (...options: string[]) => {
    const args = ['create', '--name', 'x', '--plan', ...options]
    const made = await runProgram('src/commands/keys.ts', args, { DATA_DIR: dataDir })
    return { authorization: `Bearer ${made.stdout.trim()}` }
  }
  return { service, key, dataDir }
}

function pidsOf({ log }: ServiceProcess, message: RegExp): Set<unknown> {
  return new Set(log.filter(({ msg }) => message.test(String(msg))).map(({ pid }) => pid))
}

/** Sends simultaneous requests, each on its own connection, which the primary distributes to the workers. */
async function flood(url: string, count: number, headers: Record<string, string>): Promise<number[]> {
  const agent = new Agent({ keepAlive: false })
  const one = () =>
    new Promise<number>((resolve, reject) => {
      const sent = request(url, { agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', reject).end()
    })
  return Promise.all(Array.from({ length: count }, one))
}

function tally(statuses: readonly number[]): Record<string, number> {
  return countBy(statuses, String)
}

t.test('quotas and metrics are exact over all workers', async (t) => {
  const { service, key } = await start(t, { METRICS_PORT: '0', WORK_MAX: '4000' })
  const headers = await key(customPlan, '--per-minute', '700', '--per-day', '10000')
  const statuses = await flood(`${service.base}/pets`, 1_000, headers)
  t.strictSame(tally(statuses), { 200: 700, 429: 300 })

  t.ok(contract.rateLimits.ban.rejections < 300)
  t.match(await send(`${service.base}/pets`, 'GET', headers), { status: 429, body: { code: 'key_banned' } })

  const { perMinute } = contract.rateLimits.anonymous
  const guesses = await flood(`${service.base}/pets`, perMinute + 40, {})
  t.strictSame(tally(guesses), { 401: perMinute, 429: 40 })
  t.equal(pidsOf(service, /^request$/).size, workers, 'both workers have served requests')

  const { port } = await service.logged('metrics server listening')
  const { text } = await send(`http://127.0.0.1:${port}/metrics`)
  t.match(text, /^animal_store_request_seconds_count{operation="listPets",status="200"} 700$/m)
  const refused = new RegExp(`^animal_store_refusals_total{plan="${customPlan}",window="\\w+"} (\\d+)$`, 'gm')
  const refusals = [...text.matchAll(refused)]
  t.equal(
    refusals.reduce((sum, [, count]) => sum + Number(count), 0),
    301,
  )
  t.match(text, /^animal_store_counters{place="memory"} 1$/m)
  t.match(text, /^animal_store_database_up 1$/m)
  for (const path of ['/healthz', '/readyz'])
    t.match(await send(`http://127.0.0.1:${port}${path}`), { status: 200, body: { status: 'ok' } })

  const unseen = await key(customPlan, '--per-minute', '1000', '--per-day', '10000')
  t.strictSame(tally(await flood(`${service.base}/pets`, 50, unseen)), { 200: 50 }, 'the address is used up')
  t.match(await service.stop(), { code: 0 })
})

t.test('a connection that a killed worker had not accepted is closed', async (t) => {
  const { service } = await start(t, { METRICS_PORT: '0' })
  const { port: metricsPort } = await service.logged('metrics server listening')
  const [victim, other] = [...pidsOf(service, workerMessage)].map(Number) as [number, number]
  for (const pid of [victim, other]) process.kill(pid, 'SIGSTOP')
  const { port, hostname } = new URL(service.base)
  const sockets = Array.from({ length: 4 }, () => net.connect(Number(port), hostname).on('error', () => {}))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().on('close', resolve))) // also if reset
  for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  // The primary accepts one connection in an iteration of its event loop, and by these responses it has
  // passed one to each worker.
  for (let i = 0; i < 8; i++) await send(`http://127.0.0.1:${metricsPort}/`)
  process.kill(victim, 'SIGKILL')
  process.kill(other, 'SIGCONT')
  await Promise.all(closed)
  t.match(await service.stop(), { code: 0 })
})

t.test('probes need no client connection, and workers that do not respond are replaced', async (t) => {
  const { service } = await start(t, { METRICS_PORT: '0', CONNECTIONS_MAX: String(workers) })
  const { port } = await service.logged('metrics server listening')
  const health = (path: string) => send(`http://127.0.0.1:${port}${path}`)
  const { port: servicePort, hostname } = new URL(service.base)
  const sockets = Array.from({ length: 2 * workers }, () =>
    net.connect(Number(servicePort), hostname).on('error', () => {}),
  )
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  t.match(await health('/readyz'), { status: 200, body: { status: 'ok', counters: 'memory' } })

  const frozen = [...pidsOf(service, workerMessage)].map(Number)
  for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  for (const path of ['/healthz', '/readyz']) t.match(await health(path), { status: 503 }, path)
  await until(() => pidsOf(service, workerMessage).size === 2 * workers)
  for (const path of ['/healthz', '/readyz']) await until(async () => (await health(path)).status === 200)
  const killed = service.log.filter(({ msg }) => msg === 'worker does not respond, killing it')
  t.strictSame(new Set(killed.map(({ worker }) => worker)), new Set(frozen))
  t.match(await service.stop(), { code: 0 })
})

t.test('a killed worker is replaced, and no acknowledged write is lost', async (t) => {
  const { service, key, dataDir } = await start(t, { WORK_MAX: '100000' }) // more than the simultaneous requests at the end
  const headers = await key(customPlan, '--per-minute', '100000', '--per-day', '100000')
  const acknowledged: string[] = []
  const [victim] = pidsOf(service, workerMessage)
  const client = async () => {
    // Some before the worker is killed, and more after it.
    while (acknowledged.length < 600) {
      const body = { name: 'Rex', categoryId: 1 }
      const response = await send(`${service.base}/pets`, 'POST', headers, body).catch(() => undefined)
      if (response?.status === 201) acknowledged.push(response.headers.get('location') ?? '')
      if (acknowledged.length === 200) process.kill(Number(victim), 'SIGKILL')
    }
  }
  const clients = Array.from({ length: 16 }, client)
  await service.logged('worker exited, replacing it')
  await until(() => pidsOf(service, workerMessage).size === workers + 1)
  await until(() => acknowledged.length >= 600)
  const known = [...acknowledged]
  t.match(await send(`${service.base}/pets`, 'GET', headers), { status: 200 })
  const found = await Promise.all(
    known.map((location) => send(`${service.base}/${location}`, 'GET', headers)),
  )
  t.strictSame(tally(found.map(({ status }) => status)), { 200: known.length }, 'all exist')

  const { port } = new URL(service.base)
  const second = await runProgram('src/main.ts', [], { DATA_DIR: dataDir, PORT: port, WORKERS: '2' })
  t.match(second, { code: 1, stderr: /EADDRINUSE/ })
  t.equal(second.stderr.split('startup failed').length, 2, 'a failed startup is reported once')

  const [, ...pids] = [...pidsOf(service, workerMessage)].map(Number)
  t.equal(pids.length, workers)
  await service.stop('SIGKILL')
  await Promise.all(clients) // a connection that was being passed to the killed worker gets no response until now
  await until(() => !pids.some(isRunning))
  t.pass('workers exit when their primary is killed')
})

const workerMessage = /Server listening/

t.test('a worker that cannot be spawned fails the startup', async (t) => {
  cluster.setupPrimary({ cwd: path.join(dataDirectory(t), 'nowhere') })
  const none = new Workers(workers, silent, () => undefined)
  await t.rejects(none.start(), { message: /^worker failed to start: spawn / })
  await none.stop('SIGTERM')
})

t.test('Ctrl-C shuts all workers and the database down gracefully', async (t) => {
  const { service, key, dataDir } = await start(t, { SHUTDOWN_DELAY_MS: '2000' }, true)
  const headers = await key(fixedPlan.name)
  signalGroup(service.child, 'SIGINT')
  await service.logged('stopping')
  t.match(await send(`${service.base}/pets`, 'GET', headers), { status: 200 })
  const ended = await service.ended
  t.equal(ended.code, 0)
  t.notMatch(ended.stderr, /\n +at /)
  t.notMatch(ended.stdout, /forcing|"level":[56]0/)
  t.notOk(existsSync(path.join(dataDir, 'postgresql/data/postmaster.pid')), 'the database server has stopped')
})

t.test('SIGUSR2 sets all workers, later ones too, to debug, and a second SIGUSR2 resets them', async (t) => {
  const { service } = await start(t)
  const { origin } = new URL(service.base)
  // Probes are logged at debug.
  const probes = () => service.log.filter(({ level, route }) => level === 20 && route === '/healthz')
  const pids = () => new Set(probes().map(({ pid }) => pid))
  const probeAll = async () => void (await flood(`${origin}/healthz`, 8, {}))
  const loggedBy = (count: number) => async () => {
    await probeAll()
    return pids().size === count
  }
  await probeAll()
  service.child.kill('SIGUSR2')
  t.match(await service.logged('log level changed'), { to: 'debug' })
  await until(loggedBy(workers))
  const [victim] = pids()
  process.kill(Number(victim), 'SIGKILL')
  await until(() => pidsOf(service, workerMessage).size === workers + 1)
  await until(loggedBy(workers + 1))

  service.child.kill('SIGUSR2')
  await until(() => service.log.some(({ to }) => to === 'info'))
  await until(async () => {
    const before = probes().length
    await probeAll()
    return probes().length === before
  })
  t.match(await service.stop(), { code: 0 })
  t.equal(service.log.filter(({ msg }) => msg === 'log level changed').length, 2)
})
