#!/usr/bin/env node
// Brings the database to the form that this version needs, so that the service itself need not be allowed to.

import { pino } from 'pino'
import { readConfig } from '../src/config.js'
import { connect } from '../src/database/connect.js'
import { type Login, prepareServiceRole } from '../src/database/roles.js'
import { OperatorError } from '../src/operator-error.js'
import { migrationsFolder } from '../src/project.js'

const usage = `Usage: DATABASE_URL=postgres://OWNER:PASSWORD@HOST/DATABASE migrate

Applies the migrations that are missing. With SERVICE_DATABASE_URL, the address that the service is to use, it also makes
the role in it, with that password, which may read and write rows and do nothing else.
`

async function main(): Promise<void> {
  const { DATABASE_URL, SERVICE_DATABASE_URL } = process.env
  if (process.argv.length > 2 || !DATABASE_URL) throw new OperatorError(usage.trimEnd())
  const login = SERVICE_DATABASE_URL ? readLogin(SERVICE_DATABASE_URL) : undefined
  const log = pino({ level: 'info', base: null })
  const config = readConfig(process.env)
  const database = await connect({ ...config, migrationsFolder, log })
  try {
    if (login === undefined) return
    const [row] = await database.sql<{ name: string }[]>`select current_user as name`
    if (row?.name === login.name)
      throw new OperatorError(`SERVICE_DATABASE_URL must name another role than ${login.name}, the owner.`)
    await prepareServiceRole(database.sql, login)
    log.info({ role: login.name }, 'the role may read and write rows')
  } finally {
    await database.close()
  }
}

function readLogin(text: string): Login {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: '', password: '' }
  if (username === '' || password === '')
    throw new OperatorError('SERVICE_DATABASE_URL must be a URL with a user and a password.')
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) }
}

main().catch((error) => {
  process.stderr.write(`${error instanceof OperatorError ? error.message : error.stack}\n`)
  process.exitCode = 1
})
