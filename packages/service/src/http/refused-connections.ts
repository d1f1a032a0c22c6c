// Closes connections over a limit without a response, counts and logs them. Node enforces CONNECTIONS_MAX;
// this file enforces the limit per address. Without it, one address could use all connections, and without
// the count, no operator would learn of it.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.js'
import { networkOf, readAddress } from '../lib/address.js'

/** The limit that was reached. */
export const refusalReasons = ['connections_max', 'connections_per_address_max'] as const
export type RefusalReason = (typeof refusalReasons)[number]

// At most one log line for each reason in this time.
const logIntervalMs = 60_000

/** Limits the connections of an address, if configured. Counts and logs refused connections. */
export class RefusedConnections {
  readonly #counts = new Map<RefusalReason, number>()
  readonly #logged = new Map<RefusalReason, { readonly count: number; readonly atMs: number }>()

  constructor(
    server: Server,
    {
      connectionsPerAddressMax,
      isAddressLogged,
    }: Pick<Config, 'connectionsPerAddressMax' | 'isAddressLogged'>,
    readonly log: FastifyBaseLogger,
  ) {
    server.on('drop', () => this.#add('connections_max'))
    if (connectionsPerAddressMax === undefined) return
    limitPerAddress(server, connectionsPerAddressMax, (network) =>
      this.#add('connections_per_address_max', isAddressLogged ? network : undefined),
    )
  }

  /** The number of refused connections since startup. */
  count(reason: RefusalReason): number {
    return this.#counts.get(reason) ?? 0
  }

  #add(reason: RefusalReason, address?: string): void {
    const count = this.count(reason) + 1
    this.#counts.set(reason, count)
    const last = this.#logged.get(reason)
    const now = performance.now()
    if (last !== undefined && now - last.atMs < logIntervalMs) return
    this.log.warn(
      { refused: count - (last?.count ?? 0), address },
      `connections refused: ${reason.toUpperCase()} reached`,
    )
    this.#logged.set(reason, { count, atMs: now })
  }
}

function limitPerAddress(server: Server, max: number, onRefused: (network: string) => void): void {
  const open = new Map<string, number>()
  // Runs before Node's own listener, which starts to read.
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return // disconnected already
    const network = networkOf(readAddress(remoteAddress) ?? remoteAddress)
    const count = open.get(network) ?? 0
    if (count >= max) {
      socket.destroy()
      onRefused(network)
      return
    }
    open.set(network, count + 1)
    socket.once('close', () => {
      const left = (open.get(network) ?? 0) - 1
      if (left > 0) open.set(network, left)
      else open.delete(network)
    })
  })
}
