// What follows an edit: generate, compile, let the new server take over, and say so.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { contractFile, projectRoot } from '../../src/paths.js'
import { type Build, prepareBuild, removeBuild, writeBuild } from './build.js'
import type { Compilation, Compiler } from './compiler.js'
import { contractChanges } from './contract-changes.js'
import { isContractFile } from './contract-files.js'
import { generate } from './generate.js'
import { count, say, sayMore } from './report.js'
import type { Servers } from './server.js'

/** The project between two edits. */
export interface Project {
  readonly servers: Servers
  readonly compiler: Compiler
  /** Ends what is under way. */
  readonly stopping: AbortSignal
  /** The edited files, until the contract could be used. */
  readonly unread: Set<string>
  /** The files that no one edited: they were generated. */
  readonly written: Set<string>
  /** Errors outside of the server, when last counted. */
  restCount: number
  restTimer?: NodeJS.Timeout
}

// Tests are checked once the server has started and nobody edits.
const idleMs = 1_500

/** Takes the edited files up. Whatever goes wrong is said, and leaves the last good server up. */
export async function update(project: Project, edits: readonly string[]): Promise<void> {
  clearTimeout(project.restTimer)
  for (const file of edits) project.unread.add(file)
  await advance(project).catch((error) => conclude(project.servers, error.message))
}

// The last good server stops when all that could be known before is known, and the next one listens.
async function advance(project: Project): Promise<void> {
  const { servers, compiler, unread } = project
  const startMs = performance.now()
  if ([...unread].some(isGeneratedFrom) && !(await readContract(project))) return
  unread.clear()
  const { problems, files } = await compiler.compile()
  if (problems.length > 0) return conclude(servers, `${count(problems.length, 'error')} to mend`, problems)
  await restart(servers, files, startMs)
  project.restTimer = setTimeout(() => checkRest(project).catch(() => {}), idleMs)
}

// The contract itself, what generates from it and what checks it; and a handler that went.
function isGeneratedFrom(file: string): boolean {
  if (isContractFile(file) || /^(scripts\/generate|src\/contract\/)/.test(file)) return true
  return file.startsWith('src/handlers/') && !existsSync(path.join(projectRoot, file))
}

async function readContract({ servers, written, stopping }: Project): Promise<boolean> {
  const { isDone, lines, stubs } = await generate(stopping)
  if (!isDone) {
    conclude(servers, 'the contract cannot be used', lines)
    return false
  }
  for (const stub of stubs) written.add(stub)
  sayMore(await changesSince(servers.good))
  sayMore(lines)
  return true
}

async function changesSince(good: Build | undefined): Promise<readonly string[]> {
  if (good === undefined) return []
  const before = path.join(good.folder, path.basename(contractFile))
  // It was read a moment ago, but edits do not wait.
  return contractChanges(before, contractFile).catch((error) => [`the changes are unknown: ${error.message}`])
}

async function restart(servers: Servers, files: Compilation['files'], startMs: number): Promise<void> {
  const build = await prepareBuild(files)
  const last = servers.good
  if (servers.isRunning && build.hash === last?.hash) return say('nothing changed for the server')
  await writeBuild(build)
  const failure = await servers.start(build)
  if (failure !== undefined) {
    await removeBuild(build)
    return conclude(servers, `the new server does not start (${failure})`)
  }
  if (last !== undefined) await removeBuild(last)
  say(`the new server is up (${((performance.now() - startMs) / 1_000).toFixed(1)} s)`)
}

function conclude({ isRunning }: Servers, what: string, lines: readonly string[] = []): void {
  sayMore(lines)
  say(`${what}; ${isRunning ? 'the last good server stays up' : 'no server is up until it is mended'}`)
}

async function checkRest(project: Project): Promise<void> {
  const problems = await project.compiler.checkRest()
  if (problems === undefined) return
  if (problems.length > 0) say(`${count(problems.length, 'error')} to mend in tests and scripts`, problems)
  else if (project.restCount > 0) say('nothing is left to mend in tests and scripts')
  project.restCount = problems.length
}
