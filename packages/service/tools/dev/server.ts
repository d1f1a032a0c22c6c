// Runs the server from the sources, and replaces it without downtime.
//
// Servers are node:cluster workers, which share the listening socket: the new one starts while the old one
// still serves, and the old one is stopped once the new one listens. If the new one fails to start, the old
// one keeps running. Workers exit with this process, even if it is killed.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from '../../src/lib/paths.js'
import type { FileRead } from './in-server.js'

// Longer than src/main.ts waits for its database by default.
const startTimeoutMs = 60_000

export class ServerProcess {
  #running: Worker | undefined
  #isStopping = false

  /**
   * `onCrash` is called with the exit code or signal when the running server exits without being stopped,
   * `onRead` with each file of a contract that a server reads.
   */
  constructor(
    readonly onCrash: (how: string) => void,
    readonly onRead: (file: string) => void,
  ) {
    // Workers accept connections themselves; none passes through this process.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      exec: path.join(projectRoot, 'src/main.ts'),
      execArgv: ['--import', 'tsx', '--import', path.join(import.meta.dirname, 'in-server.js')],
      args: [],
      cwd: projectRoot,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /**
   * Replaces the running server by one with the current files. Resolves to the reason if that does not start.
   */
  async restart(): Promise<string | undefined> {
    if (this.#isStopping) return 'shutting down'
    const worker = cluster.fork({ REUSE_PORT: '' }) // the workers share one socket anyway
    worker.on('error', () => {}) // the IPC channel may fail while the worker exits
    worker.on('message', ({ fileRead }: Partial<FileRead>) => fileRead !== undefined && this.onRead(fileRead))
    const failure = await untilListening(worker)
    if (failure !== undefined) return failure
    const previous = this.#running
    this.#running = worker
    worker.once('exit', (code, signal) => {
      if (this.#running !== worker) return
      this.#running = undefined
      if (!this.#isStopping) this.onCrash(exitText(code, signal))
    })
    if (previous !== undefined) await stopWorker(previous)
    return undefined
  }

  /** Stops all workers gracefully; a second call stops them at once. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    await Promise.all(workers.map(stopWorker))
  }
}

async function untilListening(worker: Worker): Promise<string | undefined> {
  const timeout = `not listening after ${startTimeoutMs / 1_000} s`
  const failure = await Promise.race([
    once(worker, 'listening').then(() => undefined),
    once(worker, 'exit').then(([code, signal]) => exitText(code, signal)),
    delay(startTimeoutMs, timeout, { ref: false }),
  ])
  if (failure === timeout) worker.process.kill('SIGKILL')
  return failure
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const exit = once(worker, 'exit')
  worker.process.kill('SIGTERM')
  await exit
}

function exitText(code: number | null, signal: string | null): string {
  return signal ?? `exit code ${code}`
}
