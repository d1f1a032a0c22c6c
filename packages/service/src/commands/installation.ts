// How the help shows commands: in a checkout with npm, which installs an embedded PostgreSQL; in the image by
// name, and without an embedded PostgreSQL.

import { installed } from '../database/embedded/binaries.js'

const hasEmbedded = await installed().then(
  () => true,
  () => false,
)

/** The database that commands use without DATABASE_URL, in brackets. */
export const defaultDatabase = hasEmbedded ? ' (by default the embedded database in DATA_DIR)' : ''

/** Returns a command with its arguments, as the user types it. */
export function commandLine(name: string, args = ''): string {
  if (!hasEmbedded) return `${name} ${args}`.trim()
  return `npm run --silent ${name}${args && ` -- ${args}`}`
}
