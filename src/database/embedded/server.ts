// A real PostgreSQL from binaries that npm ships, for a machine that has none: its own processes and data
// directory, reached through a unix socket in that directory and by nobody else.
//
// The server outlives a service that is killed, and the next one joins it: `pg_ctl` knows a running server
// from a stale lock file. Each user holds a shared advisory lock; the last to leave stops the server.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import postgres from 'postgres'
import { socketOption } from '../driver/socket.js'
import { binaries, majorVersion } from './binaries.js'
import {
  defaultDirectory,
  type Identity,
  makeFolderWhole,
  prepareDirectory,
  removeDrafts,
} from './data-directory.js'
import { EmbeddedError, elsewhere } from './embedded-error.js'

export interface EmbeddedServer {
  /** How to reach it, for postgres.js. */
  readonly connection: {
    readonly host: string
    readonly port: number
    readonly database: string
    readonly username: string
  }
  /** Stops the server, unless another process uses it. */
  stop(): Promise<void>
}

const port = 5432 // only a part of the socket's name
const startDeadlineMs = 30_000
const startsMax = 3
const stopsMax = 3
const retryMs = 100
const revivalMs = 1_000
const commandTimeoutMs = 60_000
// A unix socket's path is limited to 107 bytes on Linux and 103 on macOS.
const socketPathMax = 103
const advisoryLockId = 7_253_009_115

// What ends a command before its time. `pg_ctl start` stops what it started at SIGINT alone; `initdb` does not hear that while it tries
// settings, and leaves nothing but its folder.
const interruptions = { pg_ctl: 'SIGINT', initdb: 'SIGKILL' } as const

/**
 * Starts the embedded server, or joins it where it runs, after making its data directory on first use.
 * @param dataDir undefined: `.data` in the project, or under /var/lib where root alone can enter that
 * @param interruption ends a start; nothing is left behind
 * @throws {EmbeddedError} when it cannot run here
 */
export async function startEmbedded(
  dataDir: string | undefined,
  log: Logger,
  interruption: AbortSignal = new AbortController().signal,
): Promise<EmbeddedServer> {
  // A folder of its own: only what is made here changes hands where root lends it to another user.
  const directory = path.join(path.resolve(dataDir ?? (await defaultDirectory())), 'postgresql')
  const identity = await prepareDirectory(directory)
  await removeDrafts(directory, commandTimeoutMs)
  const bin = await binaries(directory, identity)
  const server = new Server(directory, bin, identity, log)
  await server.initialize(interruption)
  try {
    await server.join(interruption)
    interruption.throwIfAborted()
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

class Server implements EmbeddedServer {
  #users: postgres.Sql | undefined
  #socketLink: string | undefined
  #revival: Promise<void> | undefined
  readonly #stopping = new AbortController()

  constructor(
    readonly directory: string,
    readonly bin: string,
    readonly identity: Identity,
    readonly log: Logger,
  ) {}

  get #data(): string {
    return path.join(this.directory, 'data')
  }

  get connection() {
    return { host: this.#socketLink ?? this.#data, port, database: 'postgres', username: 'postgres' }
  }

  async initialize(interruption: AbortSignal): Promise<void> {
    const made = await readFile(path.join(this.#data, 'PG_VERSION'), 'utf8').catch(() => undefined)
    if (made !== undefined) return refuseOther(made.trim(), this.directory)
    this.log.info({ directory: this.directory }, 'making a database directory')
    await makeFolderWhole(this.#data, async (draft) => {
      await this.#command('initdb', [`--pgdata=${path.basename(draft)}`, ...initdbOptions], interruption)
    }).catch(async (error) => {
      interruption.throwIfAborted()
      throw await this.#failure(error)
    })
  }

  // Another process may start or stop the server at any moment, so what fails is tried again for a while. A
  // start that fails lost a race the first time; when it keeps failing it never will succeed, unless it waits
  // for the last process of a server that was killed.
  async join(interruption: AbortSignal): Promise<void> {
    await this.#linkSocket()
    const deadline = Date.now() + startDeadlineMs
    let readyBefore: string | undefined
    for (let starts = 0; ; ) {
      interruption.throwIfAborted()
      try {
        const running = await this.#isRunning()
        if (!running) {
          starts++
          await this.#start()
        }
        await this.#enter()
        return
      } catch (error) {
        const ready = await this.#readyProcess()
        if (isNotFound(error) && ready !== undefined && ready === readyBefore) throw this.#stranger(ready)
        readyBefore = ready
        if (Date.now() > deadline || (starts >= startsMax && !(await this.#waitsForOthers()))) {
          throw await this.#failure(error)
        }
        await delay(retryMs)
      }
    }
  }

  async #start(): Promise<void> {
    await this.#command('pg_ctl', ['start', '--pgdata=data', '--log=server.log', '--wait', '--silent'])
  }

  async #isRunning(): Promise<boolean> {
    return this.#command('pg_ctl', ['status', '--pgdata=data']).then(
      () => true,
      () => false,
    )
  }

  // Takes the shared lock. It fails while another process, which holds the lock alone, stops the server, and is tried again.
  async #enter(): Promise<void> {
    const users = postgres({
      ...this.connection,
      max: 1,
      connect_timeout: 5,
      backoff: false,
      fetch_types: false,
      ...socketOption,
      connection: { application_name: 'animal-store-user' },
      onclose: () => this.#onclose(users),
      onnotice: (notice) => this.log.debug({ notice }, 'database notice'), // or it is printed amid the log
    })
    try {
      await users`select pg_advisory_lock_shared(${advisoryLockId})`
      this.#users = users
    } catch (error) {
      await users.end({ timeout: 0 })
      throw error
    }
  }

  // The connection that holds the place is gone: the server died under the service. Bring it back.
  #onclose(users: postgres.Sql): void {
    if (this.#stopping.signal.aborted || this.#users !== users) return
    this.#users = undefined
    this.log.error('the embedded database stopped; starting it again')
    void users.end({ timeout: 0 })
    this.#revival = this.#revive()
  }

  async #revive(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.join(signal)
        this.log.info('the embedded database is back')
        return
      } catch (error) {
        if (signal.aborted) return
        this.log.error({ err: error }, 'the embedded database cannot be started yet')
        await delay(revivalMs)
      }
    }
  }

  // A server that is up before and after nothing was found at its socket: somebody runs one of their own on this data. One that is just
  // starting opens its socket before it says that it is ready.
  #stranger(pid: string): EmbeddedError {
    return new EmbeddedError(
      `The data directory ${this.directory} is locked: another PostgreSQL (process ${pid}) runs on it. Stop that one, or set DATA_DIR to another directory.`,
    )
  }

  async #readyProcess(): Promise<string | undefined> {
    const text = await readFile(path.join(this.#data, 'postmaster.pid'), 'utf8').catch(() => '')
    const [pid, , , , , , , state] = text.split('\n')
    return state?.trim() === 'ready' ? pid : undefined
  }

  // PostgreSQL's own words for it; its log is not translated.
  async #waitsForOthers(): Promise<boolean> {
    return (await this.#lastLogLines()).includes('pre-existing shared memory block')
  }

  async #lastLogLines(): Promise<string> {
    const log = await readFile(path.join(this.directory, 'server.log'), 'utf8').catch(() => '')
    return log.trim().split('\n').slice(-5).join('\n')
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#revival // or nobody would stop the server that is just starting
    const users = this.#users
    try {
      if (users !== undefined && (await isLastUser(users))) await this.#stopServer()
    } finally {
      await users?.end({ timeout: 0 })
      // The folder with the link in it; what the link leads to stays.
      if (this.#socketLink !== undefined)
        await rm(path.dirname(this.#socketLink), { recursive: true, force: true })
    }
  }

  // Ctrl-C may still reach the command before it has a process group of its own, so it is tried again. And the connections of a
  // server that was killed outlive it for a moment.
  async #stopServer(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#command('pg_ctl', ['stop', '--pgdata=data', '--mode=fast', '--wait', '--silent'])
        return
      } catch (error) {
        if (attempt < stopsMax) continue
        if (await this.#isRunning()) throw error
        return
      }
    }
  }

  // The server binds `.` in its data directory; the client's path to it may be too long, so a link shortens it.
  async #linkSocket(): Promise<void> {
    const socket = `.s.PGSQL.${port}`
    const fits = (folder: string) => Buffer.byteLength(path.join(folder, socket)) <= socketPathMax
    if (fits(this.#data) || this.#socketLink !== undefined) return
    const temporary = fits(path.join(os.tmpdir(), 'as-123456/pg')) ? os.tmpdir() : '/tmp'
    const folder = await mkdtemp(path.join(temporary, 'as-'))
    this.#socketLink = path.join(folder, 'pg')
    await symlink(this.#data, this.#socketLink)
  }

  // Relative paths from the working directory: `pg_ctl` hands them to a shell, which a directory's name
  // must not reach. In a process group of its own, for Ctrl-C reaches every process of the terminal's, and when these end is
  // decided here.
  async #command(
    program: keyof typeof interruptions,
    args: string[],
    interruption?: AbortSignal,
  ): Promise<void> {
    interruption?.throwIfAborted()
    const child = spawn(path.join(this.bin, program), args, {
      cwd: this.directory,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      timeout: commandTimeoutMs,
      killSignal: interruptions[program],
      ...this.identity,
    })
    const interrupt = () => killGroup(child.pid, interruptions[program])
    interruption?.addEventListener('abort', interrupt)
    process.prependOnceListener('exit', interrupt) // before what it makes is removed
    try {
      const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
      if (code !== 0) throw new Error(said.trim() || `${program} ended with ${code ?? signal}`)
    } finally {
      interruption?.removeEventListener('abort', interrupt)
      process.off('exit', interrupt)
    }
  }

  // What to tell the operator.
  async #failure(cause: unknown): Promise<EmbeddedError> {
    const said = [(cause as Error).message, await this.#lastLogLines()].filter(Boolean).join('\n')
    return new EmbeddedError(
      `The embedded PostgreSQL in ${this.directory} does not start:\n${said}\n${elsewhere}`,
    )
  }
}

// Durability stays PostgreSQL's default: a commit is on disk when it is answered.
const settings = [
  'listen_addresses=',
  'unix_socket_directories=.',
  'unix_socket_permissions=0700',
  'log_line_prefix=%m [%p] ',
]

const initdbOptions = [
  '--username=postgres',
  '--auth=trust', // whoever can enter the directory, which its mode leaves to one user
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--no-instructions',
  ...settings.map((setting) => `--set=${setting}`),
]

async function isLastUser(users: postgres.Sql): Promise<boolean> {
  try {
    await users`select pg_advisory_unlock_shared(${advisoryLockId})`
    const [row] = await users<{ alone: boolean }[]>`select pg_try_advisory_lock(${advisoryLockId}) as alone`
    return row?.alone === true
  } catch {
    return false // the server is gone already
  }
}

async function refuseOther(made: string, directory: string): Promise<void> {
  const brought = await majorVersion()
  if (made === brought) return
  throw new EmbeddedError(
    `The data in ${directory} is PostgreSQL ${made}'s, and this version of the service brings PostgreSQL ${brought}, which cannot read it. Nothing was changed.
Dump it with the version of before, and load it with this one: docs/operating.md, "PostgreSQL major upgrades". ${elsewhere}`,
  )
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch {} // it has ended meanwhile
}
