// The server that runs, from the sources, and its replacement by the next.
//
// They are workers of node:cluster, which share the listening socket: the next one starts while the last still
// answers, and takes over only once it listens. One that does not start has changed nothing. Workers end with
// this process, even when it is killed.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from '../../src/paths.js'

// Beyond what src/main.ts waits for its database by default.
const startTimeoutMs = 60_000

export class Server {
  #running: Worker | undefined
  #isStopping = false

  /** `onEnd` is told how a server ended that was not to. */
  constructor(readonly onEnd: (how: string) => void) {
    // Each worker accepts on its own: no request passes through this process.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      exec: path.join(projectRoot, 'src/main.ts'),
      execArgv: ['--import', 'tsx', '--import', new URL('./server-signals.ts', import.meta.url).href],
      args: [],
      cwd: projectRoot,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Starts a server from the files as they are, in place of the last. Resolves with the reason if it does not start. */
  async restart(): Promise<string | undefined> {
    if (this.#isStopping) return 'it is to stop'
    const worker = cluster.fork({ WORKERS: '1' }) // it is one process, whatever the environment says
    worker.on('error', () => {}) // of the channel to it, as it ends
    const failure = await untilListening(worker)
    if (failure !== undefined) return failure
    const last = this.#running
    this.#running = worker
    worker.once('exit', (code, signal) => {
      if (this.#running !== worker) return
      this.#running = undefined
      if (!this.#isStopping) this.onEnd(describe(code, signal))
    })
    if (last !== undefined) await stopWorker(last)
    return undefined
  }

  /** Stops what runs or starts, in good order; called again, at once. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    await Promise.all(workers.map(stopWorker))
  }
}

async function untilListening(worker: Worker): Promise<string | undefined> {
  const late = `it does not listen after ${startTimeoutMs / 1_000} s`
  const failure = await Promise.race([
    once(worker, 'listening').then(() => undefined),
    once(worker, 'exit').then(([code, signal]) => describe(code, signal)),
    delay(startTimeoutMs, late, { ref: false }),
  ])
  if (failure === late) worker.process.kill('SIGKILL')
  return failure
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const end = once(worker, 'exit')
  worker.process.kill('SIGTERM')
  await end
}

function describe(code: number | null, signal: string | null): string {
  return signal ?? `exit code ${code}`
}
