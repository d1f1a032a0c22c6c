// The development server: on an edit it generates, compiles and restarts, and says what changed and what is left to
// do. Whatever is wrong with an edit, the last good server stays up. The parts are in dev/.

import path from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config.js'
import { defaultDirectory } from '../src/database/embedded/data-directory.js'
import { OperatorError } from '../src/operator-error.js'
import { contractFile, projectRoot } from '../src/paths.js'
import { removeBuilds } from './dev/build.js'
import { startCompiler } from './dev/compiler.js'
import { beQuiet, listed, say } from './dev/report.js'
import { Servers } from './dev/server.js'
import { type Project, update } from './dev/update.js'
import { watchProject } from './dev/watch.js'

const usage = `Usage: npm run dev

Runs the service, and on an edit of the contract or the sources
  - generates, as npm run generate does,
  - checks types, and says what changed in the contract and what the compiler still wants,
  - lets a new server take over, unless something is wrong: then the last good one stays up.
The server's log is on standard output, everything else on standard error. Ctrl-C stops it.

  --help  this

Examples:
  npm run dev
  PORT=8080 LOG_LEVEL=warn npm run dev
  DATA_DIR=/tmp/animals npm run dev         a database to try migrations on

The environment is that of npm start. Exit codes: 0 stopped, 1 it cannot run here, 2 wrong usage.
`

async function main(): Promise<void> {
  if (readArguments().help) return void process.stdout.write(usage)
  const servers = new Servers(await serverEnvironment(), say)
  const compiler = startCompiler()
  const stopping = new AbortController()
  const project: Project = {
    servers,
    compiler,
    stopping: stopping.signal,
    unread: new Set(),
    written: new Set(),
    restCount: 0,
  }
  stopOnSignal(project, stopping)
  await removeBuilds()
  await followEdits(project)
}

async function followEdits(project: Project): Promise<void> {
  const bursts = await watchProject(projectRoot)
  say('checking the contract and the sources')
  // While the contract is read: what this finds is asked for again then.
  project.compiler.compile().catch(() => {})
  await update(project, [path.basename(contractFile)])
  for await (const burst of bursts) {
    const edits = [...burst].filter((file) => !project.written.delete(file)).sort()
    if (edits.length === 0) continue
    say(`${listed(edits)} edited`)
    await update(project, edits)
  }
}

// Builds have folders of their own, so what lies beside the project's package.json by default is named.
async function serverEnvironment(): Promise<Record<string, string>> {
  const { databaseUrl, dataDir } = readConfig(process.env)
  return databaseUrl === undefined && dataDir === undefined ? { DATA_DIR: await defaultDirectory() } : {}
}

// Ctrl-C may come twice: from the terminal, and from npm, which passes it on. Later, a second signal is one who will
// not wait.
const sameSignalMs = 1_000

function stopOnSignal({ servers, compiler }: Project, stopping: AbortController): void {
  let firstMs: number | undefined
  const stop = async () => {
    if (firstMs !== undefined && performance.now() - firstMs < sameSignalMs) return
    firstMs ??= performance.now()
    beQuiet()
    stopping.abort()
    await servers.stop()
    await removeBuilds()
    compiler.stop()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
}

function readArguments(): { help?: boolean } {
  try {
    return parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}

class UsageError extends Error {}

main().catch((error) => {
  const isMendable = error instanceof OperatorError || error instanceof UsageError
  say(isMendable ? error.message : error.stack)
  process.exit(error instanceof UsageError ? 2 : 1)
})
