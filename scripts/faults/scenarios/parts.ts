// Shared by the scenarios.

import { once } from 'node:events'
import net from 'node:net'
import { DatabaseProxy } from 'contract-service/tools/lib/database-proxy'
import type { Service, Environment as Variables } from 'contract-service/tools/lib/service'
import { type Environment, type Outcome, type Report, unless } from '../environment.js'
import type { Balance, Ledger } from '../ledger.js'
import type { Load } from '../load.js'

/** Shorter than any freeze or packet loss, so that some requests time out. */
export const shortTime = { HANDLER_TIMEOUT_MS: '2000' }

/** When an unresponsive connection is closed with `shortTime`: a second each for statement and network. */
export const unresponsiveMs = 2_000

/** A service under load. */
export interface Run extends Pick<Service, 'origin' | 'log'> {
  readonly pid: number
  readonly load: Load
  readonly ledger: Ledger
}

/** Runs a scenario on a service of its own. If the service crashes, it ends, and that is its violation. */
export async function withService(
  environment: Environment,
  title: string,
  env: Readonly<Record<string, string>>,
  scenario: (run: Run) => Promise<Outcome>,
): Promise<Report> {
  const service = await environment.startService(env)
  const { origin, log, child } = service
  const crash = new AbortController()
  child.once('exit', () => crash.abort(new Error('the service crashed')))
  try {
    return await environment
      .until(crash.signal)
      .run(title, origin, (load, ledger) => scenario({ origin, log, pid: child.pid ?? 0, load, ledger }))
  } catch (error) {
    if (error !== crash.signal.reason) throw error
    return { title, figures: [], violations: [crash.signal.reason.message] }
  } finally {
    await service.stop('SIGKILL')
  }
}

/** Runs `act` with a proxy to PostgreSQL, and the variables of a service behind it. */
export async function withProxy(
  { database }: Environment,
  act: (proxy: DatabaseProxy, env: Variables) => Promise<Report>,
): Promise<Report> {
  const { PGHOST = '', PGPORT = '', PGUSER = '', PGDATABASE = '' } = database.env
  const proxy = await DatabaseProxy.start({ path: `${PGHOST}/.s.PGSQL.${PGPORT}` })
  const DATABASE_URL = `postgres://${PGUSER}@${proxy.host}:${proxy.port}/${PGDATABASE}`
  try {
    return await act(proxy, { DATABASE_URL, PGHOST: '', PGPORT: '' })
  } finally {
    proxy.close()
  }
}

/** Resolves when a read and a create sent from now on succeed, with the milliseconds until then. */
export function readAndCreated(environment: Environment, ledger: Ledger): Promise<number> {
  return timed(async () => {
    await environment.delay(50)
    const before = ['200', '201'].map((status) => ledger.count(status))
    while (['200', '201'].some((status, i) => ledger.count(status) === before[i])) await environment.delay(10)
  })
}

/** Resolves when /readyz reports this state, with the milliseconds until then. */
export function untilReady(environment: Environment, origin: string, isReady: boolean): Promise<number> {
  return timed(async () => {
    while ((await fetch(`${origin}/readyz`)).ok !== isReady) await environment.delay(20)
  })
}

/** The time that an action takes, in whole milliseconds. */
export async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return Math.round(performance.now() - startedAt)
}

/** Repeats an action that returns a time, and returns the longest. */
export async function longestOf(times: number, act: () => Promise<number>): Promise<number> {
  let longest = 0
  for (let i = 0; i < times; i++) longest = Math.max(longest, await act())
  return longest
}

/** The violation if something took too long, as a list. */
export function within(boundMs: number, tookMs: number, what: string): string[] {
  return unless(tookMs < boundMs, `it took ${tookMs} ms ${what}`)
}

/** The violations of pets locked beyond HANDLER_TIMEOUT_MS: refused creates that were executed. */
export function executedLate({ unknown, unknownStored }: Balance): string[] {
  return [
    ...unless(unknown > 0, 'no create met a lock'),
    ...unless(unknownStored === 0, `${unknownStored} creates were executed after their 503`),
  ]
}

/** Opens a connection, whose later errors are ignored. */
export async function connect(origin: string): Promise<net.Socket> {
  const { port, hostname } = new URL(origin)
  const socket = net.connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket.on('error', () => {})
}
