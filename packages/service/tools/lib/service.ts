// Runs the built service as a process on a free port, as `npm start` does.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { customPlan, fixedPlans, type ServiceContract } from '../../src/auth/plans.js'
import { projectRoot } from '../../src/lib/paths.js'
import { untilReady } from './child.js'

export type Environment = Readonly<Record<string, string>>

export interface Service {
  readonly child: ChildProcess
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The log lines so far. */
  readonly log: readonly string[]
  /**
   * Sends a signal and waits for the exit. Resolves with the exit code, or the signal that killed the
   * process.
   */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

/** Starts the service of the project or of an installation, and waits until it listens. */
export async function startService(environment: Environment, root = projectRoot): Promise<Service> {
  const child = spawn(process.execPath, [built('service/main.js', root)], {
    cwd: root,
    env: environmentOf({ PORT: '0', ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  const log: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(line))
  const [, origin = ''] = await untilReady(child.stderr, / at (https?:\/\/[^/\s]+)/)
  return {
    child,
    origin,
    log,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}

/** Runs `keys` and returns what it prints. */
export async function runKeys(
  args: readonly string[],
  environment: Environment,
  root = projectRoot,
): Promise<string> {
  const options = { cwd: root, env: environmentOf(environment) }
  const program = built('service/commands/keys.js', root)
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], options)
  return stdout.trim()
}

/**
 * Returns arguments of `keys create` for ample quotas: a custom plan, or the plan with the highest daily
 * quota.
 */
export function openTerms(contract: ServiceContract): string[] {
  const custom = customPlan(contract)
  if (custom !== undefined) return ['--plan', custom, '--per-minute', '2000000000', '--per-day', '2000000000']
  const [widest] = [...fixedPlans(contract)].sort((one, other) => other.perDay - one.perDay)
  return ['--plan', widest?.name ?? '']
}

/** Returns the path of a file that `contract-service build` writes. */
export function built(file: string, root = projectRoot): string {
  return path.join(root, 'dist', file)
}

// Takes from the caller's environment only what a shell needs: its DATABASE_URL must not be used.
function environmentOf(environment: Environment): Environment {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...environment }
}
