// Applies migrations as the database's owner, so that the service can run as a role without the privilege to.

import { parseArgs } from 'node:util'
import { type Logger, pino } from 'pino'
import type { Config } from '../../config.js'
import { connect } from '../../database/connect.js'
import type { RootSql } from '../../database/database.js'
import { beginPatiently, type Patience } from '../../database/locks.js'
import { prepareServiceRole } from '../../database/roles.js'
import { checkSequences } from '../../database/sequences.js'
import { unlessAborted } from '../../lib/abort.js'
import { logBounds } from '../../lib/log-bounds.js'
import { OperatorError } from '../../lib/operator-error.js'
import { readPostgresUrl } from '../../lib/postgres-url.js'
import { readEnvironment, type Surroundings, UsageError } from '../command.js'
import { commandLine } from '../installation.js'

export const usage = `Usage: DATABASE_URL=postgres://OWNER:PASSWORD@HOST/DATABASE migrate

Applies missing migrations. With SERVICE_DATABASE_URL, the DATABASE_URL of the service, it also creates that
URL's role with its password, or updates it: the role may only read and write rows, and its statement timeout
follows from HANDLER_TIMEOUT_MS. A password that a URL leaves out is the owner's in PGPASSWORD, the role's in
SERVICE_PASSWORD.

  --help  prints this help

Examples:
  DATABASE_URL=postgres://owner:secret@localhost/store ${commandLine('migrate')}
  DATABASE_URL=postgres://owner:secret@localhost/store \\
    SERVICE_DATABASE_URL=postgres://service:word@localhost/store ${commandLine('migrate')}

Exit codes: 0 success, 1 failure with the reason on standard error, 2 wrong usage, 130 interrupted.
`

/** The command `migrate`. */
export async function migrate(args: readonly string[], surroundings: Surroundings): Promise<undefined> {
  parseArgs({ args: [...args] })
  const config = readEnvironment(surroundings)
  if (config.databaseUrl === undefined)
    throw new UsageError(
      'DATABASE_URL is required. The embedded database is migrated when the service starts.',
    )
  const { stdout, interruption } = surroundings
  const log = pino({ level: 'info', base: null, ...logBounds }, stdout)
  const database = await connect(config, log, interruption)
  try {
    const patience = { timeoutMs: config.startTimeoutMs, log, interruption }
    await unlessAborted(prepareRole(database.sql, config, { ...patience, log }), interruption)
    await unlessAborted(beginPatiently(database.sql, patience, checkSequences), interruption)
  } finally {
    await database.close(interruption)
  }
}

async function prepareRole(
  sql: RootSql,
  { serviceDatabaseUrl, servicePassword, handlerTimeoutMs }: Config,
  patience: Patience & { readonly log: Logger },
): Promise<void> {
  if (serviceDatabaseUrl === undefined) return
  const { username: name, password: inUrl } = readPostgresUrl(serviceDatabaseUrl)
  const password = inUrl || servicePassword
  const [row] = await sql<{ name: string }[]>`select current_user as name`
  if (row?.name === name)
    throw new OperatorError(
      `SERVICE_DATABASE_URL must have a role other than ${name}, the owner in DATABASE_URL.`,
    )
  await prepareServiceRole(sql, { name, password }, handlerTimeoutMs, patience)
  patience.log.info({ role: name }, 'service role is ready: it may read and write rows')
}
