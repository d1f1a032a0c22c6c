// Servers as child processes.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Resolves with the match when a server prints a matching line. Rejects with its output if it exits. */
export async function untilReady(output: Readable, ready: RegExp): Promise<RegExpExecArray> {
  const lines: string[] = []
  for await (const line of createInterface({ input: output })) {
    lines.push(line)
    const found = ready.exec(line)
    if (found === null) continue
    output.resume() // a full pipe would block the server
    return found
  }
  throw new Error(`server failed to start:\n${lines.join('\n')}`)
}

/** True if the process has exited. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Kills a process, even a stopped one, and waits for its exit. */
export async function kill(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
