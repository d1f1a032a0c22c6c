// A PostgreSQL server for machines without one, so that `npm ci` alone is enough to try and test the service.
// Its binaries come from npm packages. It listens only on a unix socket in its data directory.
//
// The server outlives a service that is killed, and the next service uses it: `pg_ctl` tells a running server
// from a stale lock file. Each service holds a shared advisory lock; the last one stops the server.

import { mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import postgres from 'postgres'
import { OperatorError } from '../../lib/operator-error.js'
import { projectName } from '../../lib/project-name.js'
import { socketOption } from '../driver/socket.js'
import { connectionOptions } from '../pools.js'
import { codeOf } from '../unavailable.js'
import { binaries, type Installed, installed } from './binaries.js'
import { defaultDirectory, elsewhere, prepareDirectory, readOwned, removeDrafts } from './data-directory.js'
import { initializeData } from './initdb.js'
import { disownLocks, lockHolder } from './lock-files.js'
import { programRunner, programTimeoutMs, type RunProgram } from './run-program.js'

export interface EmbeddedServer {
  /** postgres.js options that connect to it. */
  readonly connection: {
    readonly host: string
    readonly port: number
    readonly database: string
    readonly username: string
    readonly ssl: false
  }
  /** Stops the server, unless another process uses it. */
  stop(): Promise<void>
}

const port = 5432 // only part of the socket's name
const startDeadlineMs = 30_000
const startsMax = 3
const stopsMax = 3
const retryMs = 100
const restartRetryMs = 1_000
const lockTimeoutMs = 1_000
// A unix socket's path is limited to 107 bytes on Linux and 103 on macOS.
const socketPathMax = 103
const advisoryLockId = 7_253_009_115

/**
 * Starts the embedded server, or connects to it if it runs. Creates its data directory on first use.
 * @param dataDir default: `.data` in the project, or a directory under /var/lib if only root can enter the
 * project
 * @param interruption aborts the start, and leaves nothing running
 * @param programs default: the binaries that the service has installed
 * @throws {OperatorError} if the server cannot run
 */
export async function startEmbedded(
  dataDir: string | undefined,
  log: Logger,
  interruption: AbortSignal = new AbortController().signal,
  programs?: Installed,
): Promise<EmbeddedServer> {
  const { native, version } = programs ?? (await installed())
  // A subdirectory, because its owner changes when root runs the server as another user.
  const directory = path.join(path.resolve(dataDir ?? (await defaultDirectory())), 'postgresql')
  const identity = await prepareDirectory(directory)
  for (const each of [path.dirname(directory), directory]) await removeDrafts(each, programTimeoutMs)
  const run = programRunner(await binaries({ native, version }, directory, identity), directory, identity)
  await initializeData(directory, version, run, log, interruption)
  const server = new SharedServer(directory, run, log)
  try {
    await server.join(interruption)
    interruption.throwIfAborted()
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

class SharedServer implements EmbeddedServer {
  // The connection that holds the shared lock.
  #lock: postgres.Sql | undefined
  #isWaiting = false
  // The size of the server's log before the start. Lines about earlier starts would mislead.
  #logSize = 0
  #socketLink: string | undefined
  #restarting: Promise<void> | undefined
  readonly #stopping = new AbortController()
  readonly #data: string
  readonly #log: string

  constructor(
    readonly directory: string,
    readonly run: RunProgram,
    readonly log: Logger,
  ) {
    this.#data = path.join(directory, 'data')
    this.#log = path.join(directory, 'server.log')
  }

  get connection() {
    const host = this.#socketLink ?? this.#data
    return { host, port, database: 'postgres', username: 'postgres', ssl: false } as const
  }

  /**
   * Starts the server if it does not run, and takes the shared lock. Another process may start or stop the
   * server at any moment, so failures are retried until a deadline. A failed start may have lost a race, but
   * after `startsMax` it will not succeed, unless it waits for the last process of a server that was killed.
   */
  async join(interruption: AbortSignal): Promise<void> {
    await this.#linkSocket()
    this.#logSize = (await stat(this.#log).catch(() => undefined))?.size ?? 0
    const deadline = Date.now() + startDeadlineMs
    let readyBefore: string | undefined
    for (let starts = 0; ; ) {
      interruption.throwIfAborted()
      try {
        await this.#disownLocks()
        const running = await this.#isRunning()
        if (!running) {
          starts++
          await this.run('pg_ctl', ['start', '--pgdata=data', '--log=server.log', '--wait', '--silent'])
        }
        await this.#takeLock()
        return
      } catch (error) {
        const ready = await this.#readyPostmaster()
        // Twice no socket, although a postmaster is ready: it belongs to another server. Ours opens its
        // socket first.
        if (isNotFound(error) && ready !== undefined && ready === readyBefore) throw this.#inUse(ready)
        readyBefore = ready
        if (Date.now() > deadline || (starts >= startsMax && !(await this.#waitsForOldProcess()))) {
          throw await this.#failure(error)
        }
        await delay(retryMs)
      }
    }
  }

  async #disownLocks(): Promise<void> {
    for (const { pid, program } of await disownLocks(this.#data)) {
      const fields = { directory: this.directory, pid, program }
      this.log.warn(fields, 'a lock file of a server that was killed names another process; it is ignored')
    }
  }

  async #isRunning(): Promise<boolean> {
    return this.run('pg_ctl', ['status', '--pgdata=data']).then(
      () => true,
      () => false,
    )
  }

  // Fails while another process holds the lock in order to stop the server. If that process is frozen, it
  // fails for ever.
  async #takeLock(): Promise<void> {
    const settings = { application_name: `${projectName}-user`, lock_timeout: lockTimeoutMs }
    const lock = postgres({
      ...connectionOptions(this.log, false, settings),
      ...this.connection,
      max: 1,
      backoff: false,
      ...socketOption,
      onclose: () => this.#onclose(lock),
    })
    try {
      await lock`select pg_advisory_lock_shared(${advisoryLockId})`
      this.#lock = lock
    } catch (error) {
      await lock.end({ timeout: 0 })
      if (codeOf(error) !== '55P03') throw error // lock_not_available
      if (!this.#isWaiting) this.log.warn('waiting for a process that is to stop the embedded database')
      this.#isWaiting = true
      throw new Error('A process that is to stop the server keeps it locked.')
    }
  }

  // The lock's connection closes only if the server dies, or an operator terminates it.
  #onclose(lock: postgres.Sql): void {
    if (this.#stopping.signal.aborted || this.#lock !== lock) return
    this.#lock = undefined
    this.log.error('connection to the embedded database lost, restarting it if it stopped')
    void lock.end({ timeout: 0 })
    this.#restarting = this.#restart()
  }

  async #restart(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.join(signal)
        this.log.info('embedded database in use again')
        return
      } catch (error) {
        if (signal.aborted) return
        this.log.error({ err: error }, 'embedded database failed to restart, retrying')
        await delay(restartRetryMs)
      }
    }
  }

  #inUse(pid: string): OperatorError {
    return new OperatorError(
      `The data directory ${this.directory} is in use by another PostgreSQL server (process ${pid}). ` +
        'Stop that server, or set DATA_DIR to another directory.',
    )
  }

  /** The pid in `postmaster.pid` if the server accepts connections. */
  async #readyPostmaster(): Promise<string | undefined> {
    const text = await readOwned(path.join(this.#data, 'postmaster.pid')).catch(() => '')
    const [pid, , , , , , , state] = text.split('\n')
    return state?.trim() === 'ready' ? pid : undefined
  }

  // Looks for PostgreSQL's message, which LC_ALL=C keeps in English.
  async #waitsForOldProcess(): Promise<boolean> {
    return (await this.#lastLogLines()).includes('pre-existing shared memory block')
  }

  async #lastLogLines(): Promise<string> {
    const log = Buffer.from(await readOwned(this.#log).catch(() => ''))
    return log.subarray(this.#logSize).toString().trim().split('\n').slice(-5).join('\n')
  }

  async #failure(cause: unknown): Promise<OperatorError> {
    const holder = await lockHolder(this.#data)
    const named = holder && `data/postmaster.pid names process ${holder.pid}, which runs ${holder.program}.`
    const details = [(cause as Error).message, named, await this.#lastLogLines()].filter(Boolean).join('\n')
    return new OperatorError(
      `The embedded PostgreSQL in ${this.directory} does not start:\n${details}\n${elsewhere}`,
    )
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#restarting // a server that is just starting must be stopped, too
    const lock = this.#lock
    try {
      if (lock !== undefined && (await isLastUser(lock))) await this.#stopServer()
    } finally {
      await lock?.end({ timeout: 0 })
      // Removes the directory with the link, not what it points to.
      if (this.#socketLink !== undefined)
        await rm(path.dirname(this.#socketLink), { recursive: true, force: true })
    }
  }

  // Retries, because Ctrl-C may reach `pg_ctl` before it has its own process group.
  async #stopServer(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.run('pg_ctl', ['stop', '--pgdata=data', '--mode=fast', '--wait', '--silent'])
        return
      } catch (error) {
        if (attempt < stopsMax) continue
        if (await this.#isRunning()) throw error
        return
      }
    }
  }

  // postgres.js needs an absolute path to the socket, which may be too long. A link shortens it.
  async #linkSocket(): Promise<void> {
    const socket = `.s.PGSQL.${port}`
    const fits = (folder: string) => Buffer.byteLength(path.join(folder, socket)) <= socketPathMax
    if (fits(this.#data) || this.#socketLink !== undefined) return
    const temporary = fits(path.join(os.tmpdir(), 'as-123456/pg')) ? os.tmpdir() : '/tmp'
    const folder = await mkdtemp(path.join(temporary, 'as-'))
    this.#socketLink = path.join(folder, 'pg')
    await symlink(this.#data, this.#socketLink)
  }
}

// Trades the shared lock for the exclusive one, which makes other processes wait or fail.
async function isLastUser(lock: postgres.Sql): Promise<boolean> {
  try {
    await lock`select pg_advisory_unlock_shared(${advisoryLockId})`
    const [row] = await lock<{ alone: boolean }[]>`select pg_try_advisory_lock(${advisoryLockId}) as alone`
    return row?.alone === true
  } catch {
    return false // the server is gone
  }
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
