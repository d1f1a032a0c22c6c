// Clears what a killed upgrade has left: the folder of the new store, and perhaps its running server.

import { readdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { isAlive } from '../../src/database/embedded/data-directory.js'
import { lockHolder } from '../../src/database/embedded/lock-files.js'
import { OperatorError } from '../../src/lib/operator-error.js'

/**
 * Returns the folder for an upgrade's new store. It is beside the old store, whose place it takes by a
 * rename.
 */
export function draftOf(dataDir: string): string {
  return path.join(dataDir, `upgrade-${process.pid}`)
}

/**
 * Removes the leftovers of killed upgrades. If one was killed between its two renames, does the second
 * rename.
 * @param stopServer stops the server of a folder
 * @throws {OperatorError} with the folder of an upgrade that still runs, or of a store that was moved and
 * replaced
 */
export async function clearInterrupted(
  dataDir: string,
  stopServer: (folder: string) => Promise<void>,
): Promise<void> {
  for (const name of await readdir(dataDir).catch(() => [])) {
    const [, pid] = /^upgrade-(\d+)$/.exec(name) ?? []
    if (pid === undefined) continue
    const draft = path.join(dataDir, name)
    if (isAlive(Number(pid)))
      throw new OperatorError(
        `${draft} is of an upgrade that still runs, as process ${pid}. ` +
          'If that is another program, remove the folder.',
      )
    if ((await lockHolder(path.join(draft, 'postgresql/data')))?.isServer) await stopServer(draft)
    await finish(draft, path.join(dataDir, 'postgresql'))
    await rm(draft, { recursive: true, force: true })
  }
}

// The old store was moved away only if the new one was complete.
async function finish(draft: string, store: string): Promise<void> {
  const moved = path.join(draft, 'postgresql')
  const [current, copied] = [await versionOf(store), await versionOf(moved)]
  if (current === undefined && copied !== undefined) await rename(moved, store)
  else if (current !== undefined && current === copied)
    throw new OperatorError(
      `${moved} has the data of an upgrade that was killed, and ${store} was created since. ` +
        'Move the one away that you do not need.',
    )
}

/** Returns the major version of PostgreSQL of a store; undefined without data. */
export async function versionOf(store: string): Promise<string | undefined> {
  const text = await readFile(path.join(store, 'data/PG_VERSION'), 'utf8').catch(() => undefined)
  return text?.trim()
}
