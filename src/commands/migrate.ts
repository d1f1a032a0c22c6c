#!/usr/bin/env node
// Applies migrations as the database's owner, so that the service can run as a role without the privilege to.

import { parseArgs } from 'node:util'
import { type Logger, pino } from 'pino'
import type { Config } from '../config.js'
import { connect } from '../database/connect.js'
import type { RootSql } from '../database/database.js'
import { type Login, prepareServiceRole } from '../database/roles.js'
import { unlessAborted } from '../lib/abort.js'
import { OperatorError } from '../lib/operator-error.js'
import { type PostgresUrl, readPostgresUrl } from '../lib/postgres-url.js'
import { readEnvironment, runCommand, UsageError } from './command.js'

const usage = `Usage: DATABASE_URL=postgres://OWNER:PASSWORD@HOST/DATABASE migrate

Applies missing migrations. With SERVICE_DATABASE_URL, the DATABASE_URL of the service, it also creates that URL's
role with its password, or updates it: the role may only read and write rows, and its statement timeout follows from
HANDLER_TIMEOUT_MS. A password that a URL leaves out is the owner's in PGPASSWORD, the role's in SERVICE_PASSWORD.

  --help  prints this help

Examples:
  DATABASE_URL=postgres://owner:secret@localhost/store npm run migrate
  DATABASE_URL=postgres://owner:secret@localhost/store SERVICE_DATABASE_URL=postgres://service:word@localhost/store npm run migrate

Exit codes: 0 success, 1 failure with the reason on standard error, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<undefined> {
  parseArgs({ args: [...args] })
  const config = readEnvironment()
  if (config.databaseUrl === undefined)
    throw new UsageError(
      'DATABASE_URL is required. The embedded database is migrated when the service starts.',
    )
  const { SERVICE_DATABASE_URL, SERVICE_PASSWORD } = process.env
  const login = SERVICE_DATABASE_URL ? readLogin(SERVICE_DATABASE_URL, SERVICE_PASSWORD) : undefined
  const log = pino({ level: 'info', base: null })
  const database = await connect(config, log, interruption)
  try {
    if (login !== undefined)
      await unlessAborted(prepareRole(database.sql, login, config, { log, interruption }), interruption)
  } finally {
    await database.close(interruption)
  }
}

async function prepareRole(
  sql: RootSql,
  login: Login,
  { handlerTimeoutMs, startTimeoutMs: timeoutMs }: Config,
  { log, interruption }: { readonly log: Logger; readonly interruption: AbortSignal },
): Promise<void> {
  const [row] = await sql<{ name: string }[]>`select current_user as name`
  if (row?.name === login.name)
    throw new OperatorError(
      `SERVICE_DATABASE_URL must have a role other than ${login.name}, the owner in DATABASE_URL.`,
    )
  await prepareServiceRole(sql, login, handlerTimeoutMs, { timeoutMs, log, interruption })
  log.info({ role: login.name }, 'service role is ready: it may read and write rows')
}

function readLogin(text: string, servicePassword = ''): Login {
  const { username, password } = readServiceUrl(text)
  const login = { name: username, password: password || servicePassword }
  if (login.name !== '' && login.password !== '') return login
  throw new OperatorError(
    'SERVICE_DATABASE_URL must be a URL with a user and a password; the password can be in SERVICE_PASSWORD.',
  )
}

function readServiceUrl(text: string): PostgresUrl {
  try {
    return readPostgresUrl(text)
  } catch (error) {
    throw new OperatorError(`SERVICE_DATABASE_URL ${(error as Error).message}`)
  }
}

runCommand(usage, main)
