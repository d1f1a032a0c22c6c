// PgBouncer between the service and PostgreSQL.

import { prepareServiceRole } from '../../../src/database/roles.js'
import { makeTemporaryDirectory } from '../../lib/directory.js'
import { PgBouncer, type PoolMode } from '../../lib/pgbouncer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, withService } from './parts.js'

/** Locks the pets table beyond HANDLER_TIMEOUT_MS, then kills and restarts PgBouncer. */
export async function restartPooler(
  environment: Environment,
  mode: PoolMode,
  times: number,
): Promise<Report> {
  const { database, bounds } = environment
  const { PGHOST: host = '', PGPORT = '', PGDATABASE = '' } = database.env
  const login = { name: `pooled_${mode}`, password: 'x' }
  await prepareServiceRole(database.sql, login, bounds.refusedMs)
  const { directory, remove } = await makeTemporaryDirectory()
  const target = { host, port: Number(PGPORT) }
  const bouncer = await PgBouncer.start(directory, target, mode, { [login.name]: '' })
  const env = {
    DATABASE_URL: `postgres://${login.name}@127.0.0.1:${bouncer.port}/${PGDATABASE}`,
    HANDLER_TIMEOUT_MS: String(bounds.refusedMs),
    ...{ PGHOST: '', PGPORT: '', PGUSER: '' },
  }
  const title = `PgBouncer in ${mode} mode: pets table locked beyond the time limit, PgBouncer killed ${times} times`
  try {
    return await withService(environment, env, (origin) =>
      environment.run(title, origin, async (load, ledger) => {
        await environment.faults.whileLocked(() => environment.delay(2 * bounds.refusedMs))
        await load.untilServed()
        const { unknown, unknownStored } = await ledger.balance(database.sql)
        const recoveries: number[] = []
        for (let i = 0; i < times; i++) {
          await environment.delay(300)
          await bouncer.kill()
          await environment.delay(100)
          await bouncer.start()
          recoveries.push(await load.untilServed())
        }
        return {
          figures: [
            `${unknown} creates were refused; served again within ${longest(recoveries)} ms after a restart`,
          ],
          violations: [
            ...unless(unknown > 0, 'no create met a lock'),
            ...unless(unknownStored === 0, `${unknownStored} creates were executed after their 503`),
            ...unless(
              Math.max(...recoveries) < bounds.recoveryMs,
              `it took ${longest(recoveries)} ms to serve again`,
            ),
          ],
        }
      }),
    )
  } finally {
    await bouncer.kill()
    await remove()
  }
}
