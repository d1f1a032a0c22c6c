// A Redis that can be killed, brought back at the same address, frozen and thawed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export class RedisServer {
  #child: ChildProcess | undefined

  constructor(
    readonly port: number,
    readonly directory: string,
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, empty, and waits until it answers. */
  async start(): Promise<void> {
    const args = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory, '--save', '']
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.includes('Ready to accept connections')) break
    }
    child.stdout.resume() // read on, or a full pipe would hold it up
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }
}
