// PgBouncer between the service and PostgreSQL.

import { prepareServiceRole } from '../../../src/database/roles.js'
import { makeTemporaryDirectory } from '../../lib/directory.js'
import { PgBouncer, type PoolMode } from '../../lib/pgbouncer.js'
import { type Environment, type Report, unless } from '../environment.js'
import { longest, withService } from './parts.js'

/** Animals locked for longer than an answer may take, then `kill -9` of PgBouncer and its start. */
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
  const title = `by a PgBouncer that pools by the ${mode}: animals locked beyond the time limit, and it killed ${times} times`
  try {
    return await withService(environment, env, (origin) =>
      environment.run(title, origin, async (load, ledger) => {
        await environment.faults.whileLocked(() => environment.delay(2 * bounds.refusedMs))
        await load.untilServed()
        const { unknown, unknownStored } = await ledger.balance(database.sql)
        const back: number[] = []
        for (let i = 0; i < times; i++) {
          await environment.delay(300)
          await bouncer.kill()
          await environment.delay(100)
          await bouncer.start()
          back.push(await load.untilServed())
        }
        return {
          figures: [`${unknown} creations were refused, and served within ${longest(back)} ms after a kill`],
          broken: [
            ...unless(unknown > 0, 'no creation met a lock'),
            ...unless(unknownStored === 0, `${unknownStored} creations were done after their 503`),
            ...unless(
              Math.max(...back) < bounds.recoveryMs,
              `it took ${longest(back)} ms to be served again`,
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
