// A PgBouncer that can be killed and restarted on the same port.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { kill, untilReady } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'

/** Whether PATH has a pgbouncer. */
export const hasPgBouncer: boolean = spawnSync('pgbouncer', ['--version']).error === undefined

/** When a client releases its PostgreSQL session. */
export type PoolMode = 'session' | 'transaction' | 'statement'

/** The PostgreSQL server. */
export interface Target {
  readonly host: string
  readonly port: number
}

const nobody = 65_534

export class PgBouncer {
  #child: ChildProcess | undefined

  private constructor(
    readonly port: number,
    readonly file: string,
  ) {}

  /**
   * Starts a PgBouncer on a free port, and waits until it listens.
   * @param directory for its files, world-accessible
   * @param users the users that may log in, with their passwords for the server
   */
  static async start(
    directory: string,
    { host, port }: Target,
    mode: PoolMode,
    users: Readonly<Record<string, string>>,
  ): Promise<PgBouncer> {
    const own = await freePort()
    const file = path.join(directory, `pgbouncer-${own}.ini`)
    const list = path.join(directory, `users-${own}.txt`)
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    const logins = Object.entries(users).map((each) => `${each.map(quoted).join(' ')}\n`)
    writeFileSync(list, logins.join(''))
    const lines = [
      '[databases]',
      `* = host=${host} port=${port}`,
      '[pgbouncer]',
      ...['listen_addr = 127.0.0.1', `listen_port = ${own}`, 'unix_socket_dir ='],
      ...['auth_type = trust', `auth_file = ${list}`, `pool_mode = ${mode}`],
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    const bouncer = new PgBouncer(own, file)
    await bouncer.start()
    return bouncer
  }

  /** Starts it, again on the same port. */
  async start(): Promise<void> {
    // PgBouncer refuses to run as root.
    const identity = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
    const child = spawn('pgbouncer', [this.file], { stdio: ['ignore', 'ignore', 'pipe'], ...identity })
    this.#child = child
    await untilReady(child.stderr, /process up/)
  }

  /** Kills it, with all connections through it. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child)
  }
}
