// Servers as child processes: until they are ready, and their end.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Resolves when a server has said a line that tells that it is ready. Rejects with what it said where it ends before. */
export async function untilReady(output: Readable, ready: RegExp): Promise<void> {
  const said: string[] = []
  for await (const line of createInterface({ input: output })) {
    said.push(line)
    if (!ready.test(line)) continue
    output.resume() // read on, or a full pipe would hold it up
    return
  }
  throw new Error(`the server does not start:\n${said.join('\n')}`)
}

/** Whether a process has ended. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Ends a process at once, and waits for its end. One that is frozen ends, too. */
export async function kill(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
