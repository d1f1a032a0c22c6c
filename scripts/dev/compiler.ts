// The TypeScript compiler, kept warm in a process of its own: what one check has read and found serves the next,
// and neither signals nor edits wait for it.

import { fork } from 'node:child_process'
import path from 'node:path'

/** What a check found, and what it made. */
export interface Compilation {
  /** As `src/x.ts:17:10 error TS2322: …`; none if it compiles. */
  readonly problems: readonly string[]
  /** The compiled text by path, `src/main.js`. */
  readonly files: ReadonlyMap<string, string>
}

export interface Compiler {
  /** Compiles what the server is made of. */
  compile(): Promise<Compilation>
  /** Checks the rest, tests and scripts. Undefined if it was asked for something else meanwhile. */
  checkRest(): Promise<readonly string[] | undefined>
  stop(): void
}

type Answer = Compilation | null
type Settle = { resolve(answer: Answer): void; reject(error: Error): void }

/** Starts it. What is asked for during a compilation waits its turn. */
export function startCompiler(): Compiler {
  const child = fork(path.join(import.meta.dirname, 'compiler-process.ts'), {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced',
    detached: true, // out of the terminal's process group: Ctrl-C is not for it
  })
  const waiting: Settle[] = []
  child.on('message', (answer: Answer) => waiting.shift()?.resolve(answer))
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting) reject(new Error(`the compiler ended (${signal ?? code})`))
  })
  const ask = (question: 'server' | 'rest') =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ resolve, reject })
      child.send(question, (error) => error && reject(error))
    })
  return {
    compile: () => ask('server') as Promise<Compilation>, // whatever else is asked for
    checkRest: async () => (await ask('rest'))?.problems,
    stop: () => void child.kill(),
  }
}
