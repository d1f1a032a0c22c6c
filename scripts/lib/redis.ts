// A Redis that can be killed, brought back at the same address, frozen and thawed.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePort } from './port.js'

/** Whether there is a redis-server in PATH. */
export const hasRedis: boolean = spawnSync('redis-server', ['--version']).error === undefined

export class RedisServer {
  #child: ChildProcess | undefined

  private constructor(
    readonly port: number,
    readonly directory: string,
    readonly settings: readonly string[],
  ) {}

  /** Starts one on a free port, which keeps nothing, and waits until it answers. `settings` are further arguments of its, a file before all others. */
  static async start(directory: string, ...settings: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), directory, settings)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it again, empty, at the same address. */
  async start(): Promise<void> {
    const args = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory, '--save', '']
    const child = spawn('redis-server', [...this.settings, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    const said: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      said.push(line)
      if (!/Ready to accept connections|\+monitor/.test(line)) continue // the latter says a sentinel
      child.stdout.resume() // read on, or a full pipe would hold it up
      return
    }
    throw new Error(`redis-server does not start:\n${said.join('\n')}`)
  }

  /** Ends it at once, with everything it held. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL') // one that is frozen ends by no other
    await ended
  }

  /** It keeps its connections and takes new ones, but answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }
}
