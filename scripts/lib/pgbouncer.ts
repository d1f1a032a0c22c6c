// A PgBouncer that can be killed and brought back at the same address.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { kill, untilReady } from './child.js'
import { freePort } from './port.js'

/** Whether there is a pgbouncer in PATH. */
export const hasPgBouncer: boolean = spawnSync('pgbouncer', ['--version']).error === undefined

/** When a client gives a session of PostgreSQL back. */
export type PoolMode = 'session' | 'transaction' | 'statement'

/** The server behind it. */
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
   * Starts one on a free port, and waits until it listens.
   * @param directory for its files, which everybody may enter
   * @param users who may log in, with the passwords that the server wants of them
   */
  static async start(
    directory: string,
    { host, port }: Target,
    mode: PoolMode,
    users: Readonly<Record<string, string>>,
    settings: readonly string[] = [],
  ): Promise<PgBouncer> {
    const own = await freePort()
    const file = path.join(directory, `pgbouncer-${own}.ini`)
    const list = path.join(directory, `users-${own}.txt`)
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    writeFileSync(
      list,
      Object.entries(users)
        .map((each) => `${each.map(quoted).join(' ')}\n`)
        .join(''),
    )
    const lines = [
      '[databases]',
      `* = host=${host} port=${port}`,
      '[pgbouncer]',
      ...['listen_addr = 127.0.0.1', `listen_port = ${own}`, 'unix_socket_dir ='],
      ...['auth_type = trust', `auth_file = ${list}`, `pool_mode = ${mode}`],
      ...settings,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    const bouncer = new PgBouncer(own, file)
    await bouncer.start()
    return bouncer
  }

  /** Starts it again at the same address. */
  async start(): Promise<void> {
    // It refuses to run as root.
    const identity = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
    const child = spawn('pgbouncer', [this.file], { stdio: ['ignore', 'ignore', 'pipe'], ...identity })
    this.#child = child
    await untilReady(child.stderr, /process up/)
  }

  /** Ends it at once, and all connections through it. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await kill(this.#child)
  }
}
