// Creates the embedded server's data.

import path from 'node:path'
import type { Logger } from 'pino'
import { OperatorError } from '../../lib/operator-error.js'
import { createWhole, elsewhere, readOwned } from './data-directory.js'
import type { RunProgram } from './run-program.js'

// Durability keeps PostgreSQL's defaults: a commit is on disk when it is acknowledged.
const settings = [
  'listen_addresses=',
  'unix_socket_directories=.',
  'unix_socket_permissions=0700',
  'log_line_prefix=%m [%p] ',
]

const options = [
  '--username=postgres',
  '--auth=trust', // the directory's mode lets only its owner reach the socket
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--no-instructions',
  ...settings.map((setting) => `--set=${setting}`),
]

/**
 * Runs `initdb` for `data` in the directory, unless it exists.
 * @param version the version of PostgreSQL
 * @throws {OperatorError} if initdb fails, or another major version has written the data
 */
export async function initializeData(
  directory: string,
  version: string,
  run: RunProgram,
  log: Logger,
  interruption: AbortSignal,
): Promise<void> {
  const data = path.join(directory, 'data')
  const ofData = await readOwned(path.join(data, 'PG_VERSION')).catch(() => undefined)
  if (ofData !== undefined) return checkVersion(ofData.trim(), version.replace(/\..*/, ''), directory)
  log.info({ directory }, 'creating a database directory')
  try {
    await createWhole(data, (draft) =>
      run('initdb', [`--pgdata=${path.basename(draft)}`, ...options], interruption),
    )
  } catch (error) {
    interruption.throwIfAborted()
    const { message } = error as Error
    const [, user] = /user ID (\d+): user does not exist/.exec(message) ?? []
    if (user !== undefined) throw unknownUser(user)
    throw new OperatorError(
      `The embedded PostgreSQL cannot initialize ${directory}:\n${message}\n${elsewhere}`,
    )
  }
}

// The error for a user without a name, such as one of `docker run --user`. Another directory would not help.
function unknownUser(user: string): OperatorError {
  return new OperatorError(
    `The embedded PostgreSQL runs as user ${user}, for whom initdb requires an entry in /etc/passwd. ` +
      `Add one (useradd --uid ${user} NAME), or set DATABASE_URL to a PostgreSQL server.`,
  )
}

function checkVersion(dataVersion: string, version: string, directory: string): void {
  if (dataVersion === version) return
  throw new OperatorError(
    `The data in ${directory} is of PostgreSQL ${dataVersion}. This version of the service contains ` +
      `PostgreSQL ${version}, which cannot read it. Nothing was changed.\n` +
      'Move the data with `npm run upgrade`, which keeps the old: docs/operating.md, ' +
      `"PostgreSQL major upgrades". ${elsewhere}`,
  )
}
