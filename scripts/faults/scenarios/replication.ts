// Failures of a PostgreSQL primary and of its standby.

import { pino } from 'pino'
import { startEmbedded } from '../../../src/database/embedded/embedded-server.js'
import { migrate } from '../../../src/database/migrate.js'
import { migrationsFolder } from '../../../src/lib/paths.js'
import { addKey } from '../../bench/database.js'
import { inTemporaryDirectory } from '../../lib/directory.js'
import { Replication, urlOf } from '../../lib/replication.js'
import { type Environment, type Report, unless } from '../environment.js'
import { readAndCreated, shortTime, unresponsiveMs, untilReady, within, withService } from './parts.js'

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

/** Kills or freezes a standby that requests read from. No create may notice, and the primary takes over the reads. */
export function loseStandby(environment: Environment, fault: Fault): Promise<Report> {
  const title = `a PostgreSQL standby that requests read from ${past[fault]}`
  return withReplication(environment, false, ({ primary, standby }, key) => {
    const env = { DATABASE_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) }
    const own = environment.on({ key, sql: primary.sql, env }, { mayReadStale: true })
    return withService(own, title, shortTime, async ({ load, ledger }) => {
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
          ...within(unresponsiveMs + own.bounds.recoveryMs, servedAfterMs, 'to serve again'),
          ...unless(refused === 0, `${refused} creates were refused`),
        ],
      }
    })
  })
}

type Fault = 'kill' | 'freeze'
const past = { kill: 'killed', freeze: 'frozen' } as const

function withReplication(
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
      await migrate(sql, migrationsFolder)
      return await act(replication, await addKey(sql))
    } finally {
      await replication.close()
    }
  })
}

const beforeMs = 500
const unpromotedMs = 3_000
const failOverMs = 1_000
