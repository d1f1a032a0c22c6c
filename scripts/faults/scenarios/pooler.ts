// PgBouncer between the service and PostgreSQL.

import { prepareServiceRole } from '../../../src/database/roles.js'
import { inTemporaryDirectory } from '../../lib/directory.js'
import { PgBouncer, type PoolMode } from '../../lib/pgbouncer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, withService } from './parts.js'

/** Locks the pets table beyond HANDLER_TIMEOUT_MS, then kills and restarts PgBouncer. */
export function restartPooler(environment: Environment, mode: PoolMode, times: number): Promise<Report> {
  const { database, bounds } = environment
  const title = `PgBouncer in ${mode} mode: pets table locked beyond the time limit, PgBouncer killed ${times} times`
  return withPgBouncer(environment, mode, (bouncer, env) =>
    withService(environment, env, (origin) =>
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
        const recoveryMs = longest(recoveries)
        return {
          figures: [`${unknown} creates were refused; served again within ${recoveryMs} ms after a restart`],
          violations: [
            ...unless(unknown > 0, 'no create met a lock'),
            ...unless(unknownStored === 0, `${unknownStored} creates were executed after their 503`),
            ...unless(recoveryMs < bounds.recoveryMs, `it took ${recoveryMs} ms to serve again`),
          ],
        }
      }),
    ),
  )
}

function withPgBouncer(
  { database, bounds }: Environment,
  mode: PoolMode,
  act: (bouncer: PgBouncer, env: Record<string, string>) => Promise<Report>,
): Promise<Report> {
  return inTemporaryDirectory(async (directory) => {
    const { PGHOST: host = '', PGPORT = '', PGDATABASE = '' } = database.env
    const login = { name: `pooled_${mode}`, password: 'x' }
    await prepareServiceRole(database.sql, login, bounds.refusedMs)
    const target = { host, port: Number(PGPORT) }
    const bouncer = await PgBouncer.start(directory, target, mode, { [login.name]: '' })
    try {
      return await act(bouncer, {
        DATABASE_URL: `postgres://${login.name}@127.0.0.1:${bouncer.port}/${PGDATABASE}`,
        HANDLER_TIMEOUT_MS: String(bounds.refusedMs),
        ...{ PGHOST: '', PGPORT: '', PGUSER: '' },
      })
    } finally {
      await bouncer.kill()
    }
  })
}
