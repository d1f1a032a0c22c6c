// A TCP proxy to PostgreSQL that injects network faults.

import { once } from 'node:events'
import net, { type Socket } from 'node:net'

/** A Unix socket's path, or a host and a port. */
export type DatabaseAddress = { readonly path: string } | { readonly host: string; readonly port: number }

export class DatabaseProxy {
  readonly host = '127.0.0.1'
  readonly #clients = new Set<Socket>()
  readonly #broken = new WeakSet<Socket>()
  readonly #server: net.Server
  #held: string | undefined
  #onHeld = () => {}
  #isSilent = false
  #delayMs = 0
  #isOpen = true

  private constructor(address: DatabaseAddress) {
    this.#server = net.createServer((client) => this.#connect(client, net.connect(address)))
  }

  static async start(address: DatabaseAddress): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(address)
    await once(proxy.#server.listen(0, proxy.host), 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** From now on, holds back each response that contains a text. Resolves when the first one arrives. */
  holdBack(text: string): Promise<void> {
    this.#held = text
    return new Promise((resolve) => {
      this.#onHeld = resolve
    })
  }

  /** From now on, delays everything that the database sends. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs
  }

  /** From now on, drops all packets in both directions. Connections stay open, and new ones are accepted. */
  silence(): void {
    this.#isSilent = true
  }

  /** Forwards packets again. A connection that has lost packets stays broken. */
  resume(): void {
    this.#isSilent = false
  }

  /**
   * From now on, drops all packets of the open connections, but does not close them. New connections work.
   */
  forget(): void {
    for (const client of this.#clients) this.#broken.add(client)
  }

  /** Accepts or refuses connections. Refusing also resets the open ones. */
  admit(isOpen: boolean): void {
    this.#isOpen = isOpen
    if (!isOpen) for (const client of this.#clients) client.resetAndDestroy()
  }

  close(): void {
    for (const client of this.#clients) client.destroy()
    this.#server.close()
  }

  #connect(client: Socket, upstream: Socket): void {
    if (!this.#isOpen) client.resetAndDestroy()
    this.#clients.add(client)
    const forward = (bytes: Buffer, to: Socket) => {
      if (this.#isSilent) this.#broken.add(client)
      if (!this.#broken.has(client)) to.write(bytes)
    }
    client.on('data', (bytes) => forward(bytes, upstream))
    upstream.on('data', (bytes) => {
      if (this.#delayMs > 0) return void setTimeout(forward, this.#delayMs, bytes, client)
      if (this.#held === undefined || !bytes.includes(this.#held)) return forward(bytes, client)
      this.#onHeld()
      upstream.pause()
    })
    client.on('close', () => this.#clients.delete(client))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  }
}
