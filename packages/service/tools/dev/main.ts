// The development server: regenerates, type-checks and restarts on each edit, and reports what changed and
// what is left to do. If anything is wrong with an edit, the last good server keeps running.

import { parseArgs } from 'node:util'
import { runProcess, type Surroundings } from '../../src/commands/command.js'
import { readConfig } from '../../src/config.js'
import { untilAborted } from '../../src/lib/abort.js'
import { projectRoot } from '../../src/lib/paths.js'
import { listenForShutdown } from '../../src/lib/shutdown.js'
import { Project } from './project.js'
import { mute } from './report.js'
import { type Watched, watchProject } from './watch.js'

const usage = `Usage: npm run dev

Runs the service and follows edits of the sources, and of the contracts with all of their files. On each edit it
  - generates code, as npm run generate does,
  - checks types, and reports contract changes and compiler errors,
  - replaces the running server, unless there are errors: then the last good server keeps running.
The server logs to standard output; everything else goes to standard error. Ctrl-C stops it.

  --help  print this help

Examples:
  npm run dev
  PORT=8080 LOG_LEVEL=warn npm run dev
  DATA_DIR=/tmp/animals npm run dev         a separate database to try migrations on

It reads the same environment variables as npm start.

Exit codes: 0 stopped, 1 cannot run, 2 wrong usage.
`

async function main(args: readonly string[], { interruption }: Surroundings): Promise<number> {
  parseArgs({ args: [...args], options: {} })
  readConfig(process.env) // report an invalid configuration once, not at every restart
  const watched = watchProject(projectRoot)
  const project = new Project(interruption, watched)
  const { forced } = listenForShutdown()
  interruption.addEventListener('abort', mute)
  forced.addEventListener('abort', () => void project.server.stop())
  try {
    await Promise.race([followEdits(project, watched), untilAborted(interruption)])
  } finally {
    await project.server.stop()
  }
  return 0
}

async function followEdits(project: Project, { bursts }: Watched): Promise<void> {
  await bursts.next() // watch before the first check, so that no edit during it is missed
  await project.start()
  for await (const burst of bursts) await project.follow(burst)
}

runProcess(usage, main)
