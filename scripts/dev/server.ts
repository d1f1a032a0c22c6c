// The server that runs, and the change to the next one.
//
// They are workers of node:cluster, which share the listening socket: the next one starts while the last still answers, and
// takes over only once it listens. One that does not start has changed nothing. Workers end with this process,
// even when it is killed.

import cluster, { type Worker } from 'node:cluster'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../src/paths.js'
import type { Build } from './build.js'

interface Server {
  readonly worker: Worker
  /** Why it does not start; undefined once it listens. */
  readonly failure: Promise<string | undefined>
  /** How it ended. */
  readonly end: Promise<string>
  isStopped: boolean
}

// Beyond what src/main.ts waits for its database by default.
const startTimeoutMs = 60_000
// A server that keeps ending waits for an edit.
const revivalsMax = 3

/** Loaded before the server, of every build; see there. */
export const signalsModule = 'scripts/dev/server-signals.js'

export class Servers {
  #running: Server | undefined
  #good: Build | undefined
  #revivals = 0
  #isStopping = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #alive = new Set<Server>()

  constructor(
    readonly env: Readonly<Record<string, string>>,
    readonly say: (text: string) => void,
  ) {
    // Each worker accepts on its own: no request passes through this process.
    cluster.schedulingPolicy = cluster.SCHED_NONE
  }

  /** The build that runs; if nothing runs, that ran last. */
  get good(): Build | undefined {
    return this.#good
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Lets the server of another build take over. Resolves with the reason if it does not start. */
  start(build: Build): Promise<string | undefined> {
    this.#revivals = 0
    return this.#inTurn(() => this.#replace(build))
  }

  /** Stops what runs, once it has started. A second call does not wait. */
  async stop(): Promise<void> {
    const isFirst = !this.#isStopping
    this.#isStopping = true
    await Promise.all(
      [...this.#alive].map(async (server) => {
        // Before that it could not let go of the embedded database.
        if (isFirst) await server.failure
        await stopServer(server, isFirst ? 'once' : 'again')
      }),
    )
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(task)
    this.#turn = result.catch(() => {})
    return result
  }

  async #replace(build: Build): Promise<string | undefined> {
    if (this.#isStopping) return 'it is to stop'
    const server = this.#fork(build)
    const failure = await server.failure
    if (failure !== undefined || this.#isStopping) return failure
    const last = this.#running
    this.#running = server
    this.#good = build
    if (last !== undefined) await stopServer(last, 'once')
    return undefined
  }

  #fork(build: Build): Server {
    cluster.setupPrimary({
      exec: path.join(build.folder, 'src/main.js'),
      execArgv: [
        '--enable-source-maps',
        '--import',
        pathToFileURL(path.join(build.folder, signalsModule)).href,
      ],
      args: [],
      cwd: projectRoot,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const worker = cluster.fork(this.env)
    worker.on('error', () => {}) // of the channel to it, as it ends
    const end = new Promise<string>((resolve) => {
      worker.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    const server = { worker, end, failure: untilListening(worker, end), isStopped: false }
    this.#alive.add(server)
    void end.then((how) => this.#onEnd(server, how))
    return server
  }

  #onEnd(server: Server, how: string): void {
    this.#alive.delete(server)
    if (this.#running !== server) return
    this.#running = undefined
    if (!this.#isStopping) void this.#inTurn(() => this.#revive(how))
  }

  async #revive(how: string): Promise<void> {
    if (this.#running !== undefined || this.#good === undefined) return
    this.#revivals++
    const again = this.#revivals <= revivalsMax
    this.say(`the server ended by itself (${how}); it starts again ${again ? 'now' : 'with the next edit'}`)
    const failure = again ? await this.#replace(this.#good) : undefined
    if (failure !== undefined) this.say(`it does not start (${failure}); edit something to try again`)
  }
}

async function untilListening(worker: Worker, end: Promise<string>): Promise<string | undefined> {
  const listening = new Promise<undefined>((resolve) => worker.once('listening', () => resolve(undefined)))
  const late = `it does not listen after ${startTimeoutMs / 1_000} s`
  const failure = await Promise.race([listening, end, delay(startTimeoutMs, late, { ref: false })])
  if (failure === late) worker.process.kill('SIGKILL')
  return failure
}

// src/main.ts takes a second signal for "at once".
async function stopServer(server: Server, times: 'once' | 'again'): Promise<void> {
  if (!server.isStopped || times === 'again') server.worker.process.kill('SIGTERM')
  server.isStopped = true
  await server.end
}
