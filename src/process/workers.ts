// An instance with several processes: a primary, which listens, counts and supervises, and workers, to which
// node:cluster distributes the connections. One that exits or no longer responds is replaced; its requests
// fail.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { unlessAborted } from '../lib/abort.js'
import type { Channel } from '../lib/channel.js'
import { OperatorError } from '../lib/operator-error.js'
import type { ShutdownSignal } from '../lib/shutdown.js'
import type { GetHealth, Health } from '../telemetry/metrics-server.js'

type Message =
  /** Worker to primary: the worker listens. */
  | { readonly type: 'listening'; readonly origin: string }
  /** Primary to worker: shut down gracefully. */
  | { readonly type: 'stop'; readonly signal: ShutdownSignal }
  /** Primary to worker: log from this level on. */
  | { readonly type: 'log level'; readonly level: string }
  /** Primary to worker, and back: the worker's event loop runs. */
  | { readonly type: 'ping' }
  /** Primary to worker: what do you respond to this probe? */
  | { readonly type: 'probe'; readonly id: number; readonly url: string }
  /** Worker to primary: the response. */
  | { readonly type: 'health'; readonly id: number; readonly health: Health }

const restartDelayMs = 1_000
const pingMs = 1_000
// Pings that a worker may miss before it is killed, and while it starts, when its modules load.
const missedMax = 10
const missedMaxStarting = 60
// With more, it is not asked for its health: an unread channel would grow.
const missedMaxAsked = 2
// Longer than the probe's own timeout.
const healthTimeoutMs = 2_000

/** The primary's side: the workers of this process. */
export class Workers {
  /** With the number of pings since the last message of each. */
  readonly #running = new Map<Worker, number>()
  readonly #listening = new Set<Worker>()
  readonly #asked = new Map<number, (health: Health) => void>()
  #lastId = 0
  #pinging: NodeJS.Timeout | undefined
  #isStopping = false

  /** @param reply returns the reply to a worker's message, if it has one */
  constructor(
    readonly count: number,
    readonly log: Logger,
    readonly reply: (message: unknown) => object | undefined,
  ) {}

  /**
   * Starts the workers. Returns where they listen. One starts first: it reports a startup error once.
   * @throws {OperatorError} when a worker does not start; the worker has reported why
   */
  async start(): Promise<string> {
    this.#pinging = setInterval(() => this.#ping(), pingMs)
    const origin = await this.#fork()
    await Promise.all(Array.from({ length: this.count - 1 }, () => this.#fork()))
    return origin
  }

  /**
   * Shuts the workers down gracefully, and resolves when all have exited. One that is starting is killed: it
   * might not hear, and has no requests.
   */
  async stop(signal: ShutdownSignal): Promise<void> {
    this.#end()
    const running = [...this.#running.keys()]
    const exits = running.map((worker) => once(worker, 'exit'))
    for (const worker of running) {
      if (this.#listening.has(worker)) worker.send({ type: 'stop', signal } satisfies Message)
      else worker.process.kill('SIGKILL')
    }
    await Promise.all(exits)
  }

  /** Sets the workers' log level to the primary's, which later workers start with too. */
  followLogLevel(): void {
    const message: Message = { type: 'log level', level: this.log.level }
    for (const worker of this.#running.keys()) worker.send(message)
  }

  /**
   * The response to a probe, over the channels, which need no connection: a worker's 200, or else any.
   * @throws {AggregateError} when no worker responds in time
   */
  async health(url: string): Promise<Health> {
    const able = [...this.#listening].filter((worker) => (this.#running.get(worker) ?? 0) <= missedMaxAsked)
    const all = able.map((worker) => this.#ask(worker, url))
    const healthy = all.map(async (each) => ((await each).status === 200 ? each : Promise.reject()))
    return Promise.any(healthy).catch(() => Promise.any(all))
  }

  /** Kills the workers. */
  kill(): void {
    this.#end()
    for (const worker of this.#running.keys()) worker.process.kill('SIGKILL')
  }

  #end(): void {
    this.#isStopping = true
    clearInterval(this.#pinging)
  }

  #ask(worker: Worker, url: string): Promise<Health> {
    const id = ++this.#lastId
    const response = new Promise<Health>((resolve) => this.#asked.set(id, resolve))
    worker.send({ type: 'probe', id, url } satisfies Message)
    const timeout = AbortSignal.timeout(healthTimeoutMs)
    return unlessAborted(response, timeout).finally(() => this.#asked.delete(id))
  }

  // Counts in iterations of this process's event loop: time in which it, or the whole machine, was suspended
  // does not count. A worker that starts loses the pings until it listens for them.
  #ping(): void {
    for (const [worker, missed] of this.#running) {
      this.#running.set(worker, missed + 1)
      worker.send({ type: 'ping' } satisfies Message)
      if (missed < (this.#listening.has(worker) ? missedMax : missedMaxStarting)) continue
      this.log.error({ worker: worker.process.pid }, 'worker does not respond, killing it')
      worker.process.kill('SIGKILL')
    }
  }

  #fork(): Promise<string> {
    const worker = cluster.fork({ LOG_LEVEL: this.log.level })
    const closeUnaccepted = followConnections(worker)
    this.#running.set(worker, 0)
    return new Promise((resolve, reject) => {
      const exited = (reason: string) => {
        this.#running.delete(worker)
        reject(new OperatorError(`worker failed to start: ${reason}`))
        if (this.#listening.delete(worker) && !this.#isStopping) {
          closeUnaccepted()
          void this.#replace(worker, reason)
        }
      }
      worker.on('error', ({ message }) => {
        // Without a pid the process never began and emits no exit. Other errors are its channel's.
        if (worker.process.pid === undefined) exited(message)
      })
      worker.on('message', (message: Message) => {
        if (!this.#running.has(worker)) return // sent before it exited
        this.#hear(worker, message)
        if (message.type === 'listening') resolve(message.origin)
      })
      worker.once('exit', (code, signal) => exited(signal ?? `exit code ${code}`))
    })
  }

  #hear(worker: Worker, message: Message): void {
    this.#running.set(worker, 0)
    if (message.type === 'listening') this.#listening.add(worker)
    if (message.type === 'health') this.#asked.get(message.id)?.(message.health)
    const reply = this.reply(message)
    if (reply !== undefined) worker.send(reply)
  }

  async #replace({ process: { pid } }: Worker, reason: string): Promise<void> {
    this.log.error({ worker: pid, reason }, 'worker exited, replacing it')
    while (!this.#isStopping) {
      try {
        await this.#fork()
        return
      } catch (error) {
        if (this.#isStopping) return
        this.log.error({ reason: (error as Error).message }, 'cannot replace worker, retrying')
        await delay(restartDelayMs)
      }
    }
  }
}

// node:cluster passes a worker one connection at a time, and keeps it open until it is accepted: for ever, if
// the worker is killed before. Returns how to close the last one, without effect if it was accepted. `send`
// is replaced because no event tells which connection is passed.
function followConnections({ process: child }: Worker): () => void {
  let last: { close?(): void } | undefined
  const send = child.send
  child.send = ((...args: Parameters<typeof send>) => {
    if (typeof args[1] === 'object') last = args[1] as typeof last
    return send.apply(child, args)
  }) as typeof send
  return () => last?.close?.()
}

/** What this process does for its instance. With WORKERS=1 it serves alone, even in another cluster. */
export function roleOf({ workers }: Pick<Config, 'workers'>): 'single' | 'primary' | 'worker' {
  if (workers === 1) return 'single'
  return cluster.isPrimary ? 'primary' : 'worker'
}

/** A worker's channel to its primary. */
export const primary: Channel = {
  // An error needs no report: node:cluster ends a worker without its primary.
  send: (message) => void process.send?.(message, undefined, undefined, () => {}),
  listen: (hear) => void process.on('message', hear),
}

/** Reports to the primary that this worker listens. */
export function reportListening(origin: string): void {
  primary.send({ type: 'listening', origin } satisfies Message)
}

/** Responds to the primary's probes. */
export function reportHealth(getHealth: GetHealth): void {
  primary.listen(async (received) => {
    const message = received as Message
    if (message.type !== 'probe') return
    const health = await getHealth(message.url).catch(() => ({ status: 503, body: '' })) // it is closing
    primary.send({ type: 'health', id: message.id, health } satisfies Message)
  })
}

/** Follows the primary's shutdown and its log level, and responds to its pings. */
export function followPrimary(log: Logger, stop: (signal: ShutdownSignal) => void): void {
  primary.listen((received) => {
    const message = received as Message
    if (message.type === 'stop') stop(message.signal)
    if (message.type === 'log level') log.level = message.level
    if (message.type === 'ping') primary.send(message)
  })
  // Sent to the process group, SIGUSR2 would end the worker; the primary decides on the level.
  process.on('SIGUSR2', () => {})
}
