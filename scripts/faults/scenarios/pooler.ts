// PgBouncer between the service and PostgreSQL.

import { prepareServiceRole } from 'contract-service/internal/database/roles'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { whileLocked } from '../database.js'
import type { Environment, Report } from '../environment.js'
import { PgBouncer, type PoolMode } from '../pgbouncer.js'
import { executedLate, longestOf, within, withService } from './parts.js'

/** Locks the pets table beyond HANDLER_TIMEOUT_MS, then kills and restarts PgBouncer. */
export function restartPooler(environment: Environment, mode: PoolMode, times: number): Promise<Report> {
  const { database, bounds } = environment
  const title = `PgBouncer in ${mode} mode: pets table locked beyond the time limit, PgBouncer killed ${times} times`
  return withPgBouncer(environment, mode, (bouncer, env) =>
    withService(environment, title, env, async ({ load, ledger }) => {
      await whileLocked(database, () => environment.delay(2 * bounds.refusedMs))
      await load.untilServed()
      const balance = await ledger.balance(database.sql)
      const recoveryMs = await longestOf(times, async () => {
        await environment.delay(300)
        await bouncer.kill()
        await environment.delay(100)
        await bouncer.start()
        return load.untilServed()
      })
      return {
        figures: [
          `${balance.unknown} creates were refused; served again within ${recoveryMs} ms after a restart`,
        ],
        violations: [...executedLate(balance), ...within(bounds.recoveryMs, recoveryMs, 'to serve again')],
      }
    }),
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
