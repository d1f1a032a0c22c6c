// A way to PostgreSQL on which things can go wrong.

import { once } from 'node:events'
import net, { type Socket } from 'node:net'

/** Where the server is: a unix socket's path, or a host and a port. */
export type DatabasePlace = { readonly path: string } | { readonly host: string; readonly port: number }

export class DatabaseProxy {
  readonly host = '127.0.0.1'
  readonly #clients = new Set<Socket>()
  readonly #broken = new WeakSet<Socket>()
  readonly #server: net.Server
  #held: string | undefined
  #holding = () => {}
  #isSilent = false
  #isOpen = true

  private constructor(place: DatabasePlace) {
    this.#server = net.createServer((client) => this.#connect(client, net.connect(place)))
  }

  static async start(place: DatabasePlace): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(place)
    await once(proxy.#server.listen(0, proxy.host), 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** From now on no answer that holds the text gets through; resolves with the first that does not. */
  holdBack(text: string): Promise<void> {
    this.#held = text
    return new Promise((resolve) => {
      this.#holding = resolve
    })
  }

  /** From now on packets vanish, in both directions; no connection is closed, and new ones are accepted. */
  silence(): void {
    this.#isSilent = true
  }

  /** What comes from now on gets through; what vanished is gone, and a connection that has lost something is of no more use. */
  resume(): void {
    this.#isSilent = false
  }

  /** From now on packets of the connections that there are vanish, in both directions; none is closed, and new ones work. */
  forget(): void {
    for (const client of this.#clients) this.#broken.add(client)
  }

  /** Whether anybody may connect. When nobody may, those who are connected are cut off. */
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
    const gets = (bytes: Buffer, to: Socket) => {
      if (this.#isSilent) this.#broken.add(client)
      if (!this.#broken.has(client)) to.write(bytes)
    }
    client.on('data', (bytes) => gets(bytes, upstream))
    upstream.on('data', (bytes) => {
      if (this.#held === undefined || !bytes.includes(this.#held)) return gets(bytes, client)
      this.#holding()
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
