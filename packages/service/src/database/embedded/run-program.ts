// Runs `initdb` and `pg_ctl`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Identity } from './data-directory.js'

/** How long a program may run. */
export const programTimeoutMs = 60_000

// The signal that interrupts each program. `pg_ctl start` stops the server it started on SIGINT only.
// `initdb` ignores SIGINT while it tries settings; killed, it leaves nothing but its directory.
const interruptSignals = { pg_ctl: 'SIGINT', initdb: 'SIGKILL' } as const

/** Runs a program to its end. Rejects with its standard error if it fails, is interrupted or times out. */
export type RunProgram = (
  program: keyof typeof interruptSignals,
  args: string[],
  interruption?: AbortSignal,
) => Promise<void>

/**
 * Runs programs in a directory. Pass relative paths: `pg_ctl` gives paths to a shell.
 * @param bin the directory of the programs
 */
export function programRunner(bin: string, directory: string, identity: Identity): RunProgram {
  return async (program, args, interruption) => {
    interruption?.throwIfAborted()
    const child = spawn(path.join(bin, program), args, {
      cwd: directory,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // its own process group: Ctrl-C in a terminal must not reach it
      timeout: programTimeoutMs,
      killSignal: interruptSignals[program],
      ...identity,
    })
    const interrupt = () => killGroup(child.pid, interruptSignals[program])
    interruption?.addEventListener('abort', interrupt)
    process.prependOnceListener('exit', interrupt) // before the listener that removes its directory
    try {
      const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
      if (code !== 0) throw new Error(stderr.trim() || `${program} exited with ${code ?? signal}`)
    } finally {
      interruption?.removeEventListener('abort', interrupt)
      process.off('exit', interrupt)
    }
  }
}

function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch {} // it has exited
}
