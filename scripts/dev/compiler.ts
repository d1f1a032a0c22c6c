// The type checker, warm in a process of its own: neither signals nor the server's start wait for it.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Diagnosis } from './types.js'

let child: ChildProcess | undefined

/**
 * Checks the types of the project as it is now; one check at a time.
 * @throws {Error} where the compiler itself fails; the next call starts it anew
 */
export async function checkTypes(): Promise<Diagnosis> {
  child ??= startChild()
  child.send('check')
  const [diagnosis] = await once(child, 'message')
  return diagnosis
}

function startChild(): ChildProcess {
  const started = fork(path.join(import.meta.dirname, 'compiler-process.ts'), {
    execArgv: ['--import', 'tsx'],
    detached: true, // out of the terminal's process group: Ctrl-C is not for it
  })
  // Whoever waits for a message hears of the error.
  started.on('exit', (code, signal) => {
    child = undefined
    if (started.listenerCount('message') > 0)
      started.emit('error', new Error(`the compiler ended (${signal ?? code})`))
  })
  return started
}
