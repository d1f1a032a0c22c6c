// What the commands' help says of how they run: in a checkout by npm, which installs an embedded PostgreSQL;
// in the image by their names, and without it.

import { installed } from '../database/embedded/binaries.js'

const hasEmbedded = await installed().then(
  () => true,
  () => false,
)

/** Which database is used unless DATABASE_URL is set, in brackets. */
export const defaultDatabase = hasEmbedded ? ' (by default the embedded database in DATA_DIR)' : ''

/** A command with its arguments. */
export function commandLine(name: string, args = ''): string {
  if (!hasEmbedded) return `${name} ${args}`.trim()
  return `npm run --silent ${name}${args && ` -- ${args}`}`
}
