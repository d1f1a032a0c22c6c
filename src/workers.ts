// The processes of an instance that serves on several cores: a primary, which listens, counts and supervises, and workers, to which
// node:cluster hands the connections in turn. A worker that ends is replaced, and takes nothing with it but its own requests.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Channel } from './lib/channel.js'
import { OperatorError } from './operator-error.js'
import type { Signal } from './shutdown.js'

type Message =
  /** To the primary: the worker listens. */
  | { readonly type: 'listening'; readonly origin: string }
  /** To a worker: it is to stop in good order. */
  | { readonly type: 'stop'; readonly signal: Signal }
  /** To a worker: its log is to tell from this level on. */
  | { readonly type: 'log level'; readonly level: string }

const restartPauseMs = 1_000

/** The workers of this process. */
export class Workers {
  readonly #running = new Set<Worker>()
  #isStopping = false

  /** @param answer what a worker is told in reply to a message of its, if anything */
  constructor(
    readonly count: number,
    readonly log: Logger,
    readonly answer: (message: unknown) => object | undefined,
  ) {}

  /**
   * Starts them, the first of them alone, so that what stops a start is said once. Gives the origin where they listen.
   * @throws {OperatorError} when one does not start; it has said why
   */
  async start(): Promise<string> {
    const origin = await this.#fork()
    await Promise.all(Array.from({ length: this.count - 1 }, () => this.#fork()))
    return origin
  }

  /** Has them answer what they accepted, and resolves when all have ended. */
  async stop(signal: Signal): Promise<void> {
    this.#isStopping = true
    const ends = [...this.#running].map((worker) => once(worker, 'exit'))
    for (const worker of this.#running) worker.send({ type: 'stop', signal } satisfies Message)
    await Promise.all(ends)
  }

  /** Has their logs tell what that of the primary does; that is a later worker's level, too. */
  followLogLevel(): void {
    const { level } = this.log
    for (const worker of this.#running) worker.send({ type: 'log level', level } satisfies Message)
  }

  /** Ends them at once. */
  kill(): void {
    this.#isStopping = true
    for (const worker of this.#running) worker.process.kill('SIGKILL')
  }

  #fork(): Promise<string> {
    const worker = cluster.fork({ LOG_LEVEL: this.log.level })
    this.#running.add(worker)
    return new Promise((resolve, reject) => {
      let isUp = false
      const end = (reason: string) => {
        this.#running.delete(worker)
        reject(new OperatorError(`A worker did not start: ${reason}`))
        if (isUp && !this.#isStopping) void this.#replace(worker, reason)
      }
      worker.on('error', ({ message }) => {
        if (worker.process.pid === undefined) end(message) // there is no process, and so no exit; else it is of the channel, as its worker ends
      })
      worker.on('message', (message: Message) => {
        if (message.type === 'listening') {
          isUp = true
          resolve(message.origin)
        }
        const reply = this.answer(message)
        if (reply !== undefined) worker.send(reply)
      })
      worker.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))
    })
  }

  async #replace({ process: { pid } }: Worker, reason: string): Promise<void> {
    this.log.error({ worker: pid, reason }, 'a worker ended, and is replaced')
    while (!this.#isStopping) {
      const failure = await this.#fork().then(
        () => undefined,
        (error: Error) => error,
      )
      if (failure === undefined) return
      this.log.error({ reason: failure.message }, 'a worker cannot be replaced yet')
      await delay(restartPauseMs)
    }
  }
}

/** The primary, as one of its workers knows it. */
export const primary: Channel = {
  send: (message) => void process.send?.(message, undefined, undefined, () => {}), // node:cluster ends a worker without its primary
  listen: (hear) => void process.on('message', hear),
}

/** Tells the primary that this worker listens. */
export function tellListening(origin: string): void {
  primary.send({ type: 'listening', origin } satisfies Message)
}

/** Calls back when the primary wants this worker to stop, or its log to tell from another level on. */
export function listenToPrimary(stop: (signal: Signal) => void, setLogLevel: (level: string) => void): void {
  primary.listen((each) => {
    const message = each as Message
    if (message.type === 'stop') stop(message.signal)
    if (message.type === 'log level') setLogLevel(message.level)
  })
}
