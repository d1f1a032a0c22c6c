// What an upgrade that was killed has left: the folder of the new store, and perhaps its server.

import { readdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { isAlive } from '../../src/database/embedded/data-directory.js'
import { lockHolder } from '../../src/database/embedded/lock-files.js'
import { OperatorError } from '../../src/lib/operator-error.js'

/** The folder of an upgrade for its new store, beside the old one, whose place it takes by a rename. */
export function draftOf(dataDir: string): string {
  return path.join(dataDir, `upgrade-${process.pid}`)
}

/**
 * Removes what killed upgrades have left. If one was killed between its two renames, the second is done.
 * @param stopServer stops the server of a folder
 * @throws {OperatorError} naming the folder of an upgrade that runs, or of a store that was moved and replaced
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

// The old store is away only if the new one was complete.
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

/** The major version of PostgreSQL that a store is of, if it has data. */
export async function versionOf(store: string): Promise<string | undefined> {
  const text = await readFile(path.join(store, 'data/PG_VERSION'), 'utf8').catch(() => undefined)
  return text?.trim()
}
