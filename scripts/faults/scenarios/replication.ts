// Failures of a PostgreSQL primary and of its standby, and a wrong certificate of the primary.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RootSql } from 'contract-service/internal/database/database'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import { migrate } from 'contract-service/internal/database/migrate'
import { migrationsFolders, projectRoot } from 'contract-service/internal/lib/paths'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { pino } from 'pino'
import { addKey } from '../../bench/database.js'
import { countConnections, terminateConnections } from '../database.js'
import { type Environment, type Report, unless } from '../environment.js'
import { Replication, urlOf } from '../replication.js'
import { connectionsMax } from './database.js'
import {
  longestOf,
  readAndCreated,
  shortTime,
  unresponsiveMs,
  untilReady,
  within,
  withService,
} from './parts.js'

/** Kills or freezes a primary with a synchronous standby, and promotes the standby. */
export function failOver(environment: Environment, fault: Fault): Promise<Report> {
  const title = `the PostgreSQL primary ${past[fault]}, and its standby promoted`
  return withReplication(environment, true, (replication, key) => {
    const { primary, standby, url } = replication
    const own = environment.on({ key, sql: standby.sql, env: { DATABASE_URL: url } })
    return withService(own, title, shortTime, async ({ origin, ledger }) => {
      await readAndCreated(own, ledger)
      await own.delay(beforeMs)
      await primary[fault]()
      await own.delay(unpromotedMs)
      await untilReady(own, origin, false)
      await replication.promote()
      const servedAfterMs = await readAndCreated(own, ledger)
      await untilReady(own, origin, true)
      const boundMs = failOverMs + own.bounds.recoveryMs
      return {
        figures: [`reads and creates served again ${servedAfterMs} ms after the promotion`],
        violations: within(boundMs, servedAfterMs, 'to serve again after the promotion'),
      }
    })
  })
}

/**
 * Kills or freezes a standby that requests read from. No create may notice, and the primary takes over the
 * reads.
 */
export function loseStandby(environment: Environment, fault: Fault): Promise<Report> {
  const { standbyMs } = environment.bounds
  const title = `a PostgreSQL standby that requests read from ${past[fault]}`
  return withReplication(environment, false, ({ primary, standby }, key) => {
    const env = { DATABASE_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) }
    const own = environment.on({ key, sql: primary.sql, env }, { mayReadStale: true })
    return withService(own, title, { HANDLER_TIMEOUT_MS: String(standbyMs) }, async ({ load, ledger }) => {
      await readAndCreated(own, ledger)
      await own.delay(beforeMs)
      await standby[fault]()
      const servedAfterMs = await readAndCreated(own, ledger)
      await own.delay(beforeMs)
      await load.stop()
      const refused = ledger.unknown.size
      return {
        figures: [`reads and creates served again within ${servedAfterMs} ms`],
        violations: [
          ...within(standbyMs + own.bounds.recoveryMs, servedAfterMs, 'to serve again'),
          ...unless(refused === 0, `${refused} creates were refused`),
        ],
      }
    })
  })
}

/**
 * Freezes the only synchronous standby under many writers: their commits wait, which no timeout of
 * PostgreSQL ends. The service must not fill the primary with connections, reads must not notice, and it must
 * stay ready.
 */
export function stallCommits(environment: Environment, forMs: number): Promise<Report> {
  const title = `the only synchronous standby of PostgreSQL frozen for ${forMs} ms`
  return withReplication(environment, true, ({ primary, standby }, key) => {
    const own = environment.on({ key, sql: primary.sql, env: { DATABASE_URL: urlOf(primary) } })
    return withService(own, title, shortTime, async ({ origin, load, ledger }) => {
      await readAndCreated(own, ledger)
      await own.delay(beforeMs)
      await standby.freeze()
      const frozenAt = performance.now()
      const isFrozen = () => performance.now() < frozenAt + forMs
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const writers = Array.from({ length: 40 }, () => writeWhile(isFrozen, `${origin}/v1/pets`, headers))
      let [connections, reads, failed, unready, degradedMs] = [0, 0, 0, 0, Number.POSITIVE_INFINITY]
      while (isFrozen()) {
        connections = Math.max(connections, await countConnections(own.database))
        if ((await fetch(`${origin}/v1/pets?limit=1`, { headers })).ok) reads++
        else failed++
        const readiness = await fetch(`${origin}/readyz`)
        if (!readiness.ok) unready++
        if ((await readiness.text()).includes('"cause":"stalled"'))
          degradedMs = Math.min(degradedMs, Math.round(performance.now() - frozenAt))
        await own.delay(100)
      }
      standby.thaw()
      await Promise.all(writers)
      const servedAfterMs = await readAndCreated(own, ledger)
      await untilReady(own, origin, true)
      await load.stop()
      const total = reads + failed
      return {
        figures: [
          `degraded within ${degradedMs} ms; at most ${connections} connections; ${reads} of ${total} reads served`,
          `reads and creates served again ${servedAfterMs} ms after the thaw`,
        ],
        violations: [
          ...unless(connections <= connectionsMax, `${connections} connections`),
          ...unless(failed === 0, `${failed} reads failed`),
          ...unless(unready === 0, `not ready ${unready} times`),
          ...within(unresponsiveMs + own.bounds.slackMs, degradedMs, 'to be degraded'),
          ...within(own.bounds.recoveryMs, servedAfterMs, 'to serve again'),
        ],
      }
    })
  })
}

/**
 * Replaces the certificate of PostgreSQL by an expired one and by a foreign one, and each time puts it right.
 */
export function replaceCertificate(environment: Environment): Promise<Report> {
  const title = 'the certificate of PostgreSQL expired, and replaced by one of another authority'
  return withReplication(environment, false, async ({ primary }, key) => {
    await present(primary.sql, 'valid')
    const tls = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: certificateFile('ca.pem') })
    const own = environment.on({ key, sql: primary.sql, env: { DATABASE_URL: `${urlOf(primary)}?${tls}` } })
    return withService(own, title, shortTime, async ({ origin, ledger }) => {
      const wrong = ['expired', 'foreign']
      let unreadyMs = 0
      const servedMs = await longestOf(wrong.length, async () => {
        await readAndCreated(own, ledger)
        await present(primary.sql, wrong.shift() ?? '')
        await terminateConnections(own.database)
        unreadyMs = Math.max(unreadyMs, await untilReady(own, origin, false))
        await own.delay(beforeMs)
        await present(primary.sql, 'valid')
        const tookMs = await readAndCreated(own, ledger)
        await untilReady(own, origin, true)
        return tookMs
      })
      return {
        figures: [`not ready within ${unreadyMs} ms; reads and creates served again within ${servedMs} ms`],
        violations: [
          ...unless(ledger.count('503') > 0, 'no request met a wrong certificate'),
          ...within(own.bounds.recoveryMs, servedMs, 'to serve again'),
        ],
      }
    })
  })
}

// Beside the clients of the load, each of which repeats a creation until it succeeds.
async function writeWhile(isOn: () => boolean, url: string, headers: Record<string, string>): Promise<void> {
  const body = '{"name":"of a writer","categoryId":1}'
  while (isOn()) {
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined)
    await response?.text()
    await delay(50)
  }
}

const certificateFile = (name: string) => path.join(projectRoot, 'scripts/faults/certificates', name)

// Connections opened from now on get the certificate. The server writes the files, so that it owns them.
async function present(sql: RootSql, certificate: string): Promise<void> {
  for (const [from, to] of [
    [`${certificate}.pem`, 'server.crt'],
    ['server.key', 'server.key'],
  ] as const) {
    const text = readFileSync(certificateFile(from), 'utf8')
    await sql.unsafe(`copy (select string_to_table('${text}', E'\n')) to program 'umask 077; cat > ${to}'`)
  }
  await sql`alter system set ssl = on`
  await sql`select pg_reload_conf()`
}

type Fault = 'kill' | 'freeze'
const past = { kill: 'killed', freeze: 'frozen' } as const

/** Runs `act` with a migrated primary and its standby, and a key. */
export function withReplication(
  { interruption }: Environment,
  isSynchronous: boolean,
  act: (replication: Replication, key: string) => Promise<Report>,
): Promise<Report> {
  return inTemporaryDirectory(async (directory) => {
    const server = await startEmbedded(directory, pino({ level: 'silent' }), interruption)
    await server.stop()
    const replication = await Replication.start(directory, isSynchronous)
    try {
      const { sql } = replication.primary
      await migrate(sql, migrationsFolders)
      return await act(replication, await addKey(sql))
    } finally {
      await replication.close()
    }
  })
}

const beforeMs = 500
const unpromotedMs = 3_000
const failOverMs = 1_000
