// The built service as a process, as `npm start` runs it, for the scripts that try it: on a free port, with its log read.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { customPlan, fixedPlans } from '../../src/contract/plans.js'
import type { Contract } from '../../src/contract/types.js'
import { projectRoot } from '../../src/paths.js'

export type Environment = Readonly<Record<string, string>>

export interface Service {
  readonly child: ChildProcess
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The log lines so far. */
  readonly log: readonly string[]
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

/** Starts the service and waits until it says where it listens. */
export async function startService(environment: Environment): Promise<Service> {
  const child = spawn(process.execPath, [built('src/main.js')], {
    cwd: projectRoot,
    env: environmentOf({ PORT: '0', ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  const log: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(line))
  const said: string[] = []
  const origin = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line)
      const found = / at (https?:\/\/[^/\s]+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    void ended.then((end) => reject(new Error(`the service ended with ${end}:\n${said.join('\n')}`)))
  })
  return {
    child,
    origin: await origin,
    log,
    ended,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}

/** Runs `keys` and returns what it prints. */
export async function runKeys(args: readonly string[], environment: Environment): Promise<string> {
  const options = { cwd: projectRoot, env: environmentOf(environment) }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [built('src/commands/keys.js'), ...args],
    options,
  )
  return stdout.trim()
}

/** What `keys create` is told for a key that no load uses up; where the contract fixes the quotas of every plan, for one of the widest. */
export function openTerms(contract: Contract): string[] {
  const custom = customPlan(contract)
  if (custom !== undefined) return ['--plan', custom, '--per-minute', '2000000000', '--per-day', '2000000000']
  const [widest] = [...fixedPlans(contract)].sort((one, other) => other.perDay - one.perDay)
  return ['--plan', widest?.name ?? '']
}

/** A file of what `npm run build:server` makes. */
export function built(file: string): string {
  return path.join(projectRoot, 'dist', file)
}

// Of the caller's environment what a shell needs: its DATABASE_URL is not for this.
function environmentOf(environment: Environment): Environment {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...environment }
}
