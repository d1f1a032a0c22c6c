// The development server: on an edit it generates, checks types and restarts, and says what changed and what is left to
// do. Whatever is wrong with an edit, the last good server stays up.

import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { readConfig } from '../../src/config.js'
import { untilAborted } from '../../src/lib/abort.js'
import { projectRoot } from '../../src/paths.js'
import { listenForShutdown } from '../../src/shutdown.js'
import { Project } from './project.js'
import { beQuiet } from './report.js'
import { watchProject } from './watch.js'

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

The environment is that of npm start.

Exit codes: 0 stopped, 1 it cannot run here, 2 wrong usage.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  parseArgs({ args: [...args], options: {} })
  readConfig(process.env) // so that what no server could start with is said once
  const project = new Project(interruption)
  const { forced } = listenForShutdown()
  interruption.addEventListener('abort', beQuiet)
  forced.addEventListener('abort', () => void project.server.stop())
  try {
    await Promise.race([followEdits(project), untilAborted(interruption)])
  } finally {
    await project.server.stop()
  }
  return 0
}

async function followEdits(project: Project): Promise<void> {
  const bursts = watchProject(projectRoot)
  await bursts.next() // so that no edit during the start is missed
  await project.start()
  for await (const burst of bursts) await project.follow(burst)
}

runCommand(usage, main)
