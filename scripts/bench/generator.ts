// The generator, in a process of its own: what it uses is not counted for anyone it measures.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Job, LoadResult } from './load.js'

/** A process that makes load. */
export interface Generator {
  readonly pid: number
  /** One at a time. */
  run(job: Job): Promise<LoadResult>
  stop(): void
}

/** What the process sends back. */
export type Message = { readonly result: LoadResult } | { readonly failure: string }

/** Starts one. */
export function startGenerator(): Generator {
  const file = fileURLToPath(new URL('generator-process.ts', import.meta.url))
  const child: ChildProcess = fork(file, [], { execArgv: ['--import', 'tsx'] })
  return {
    pid: child.pid ?? 0,
    async run(job) {
      const ended = new AbortController()
      const { signal } = ended
      child.send(job)
      try {
        const [message]: (Message | undefined)[] = await Promise.race([
          once(child, 'message', { signal }),
          once(child, 'exit', { signal }),
        ])
        if (message !== undefined && 'result' in message) return message.result
        throw new Error(message?.failure ?? 'the generator ended')
      } finally {
        ended.abort() // or the listener that was not called would stay
      }
    },
    stop: () => void child.kill(),
  }
}
