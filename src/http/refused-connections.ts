// Connections beyond a bound, which are closed without a word to anybody: CONNECTIONS_MAX by Node, CONNECTIONS_PER_ADDRESS_MAX here.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.js'
import { networkOf } from '../rate-limit/addresses.js'

/** The bound that was reached. */
export const refusalReasons = ['connections_max', 'connections_per_address_max'] as const
export type RefusalReason = (typeof refusalReasons)[number]

// However many there are, the log has a line of each reason in so long.
const quietMs = 60_000

/** Bounds the connections of an address where that is wanted, counts those that are refused, and has the log tell of them. */
export class RefusedConnections {
  readonly #counts = new Map<RefusalReason, number>()
  readonly #told = new Map<RefusalReason, { readonly count: number; readonly atMs: number }>()

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
    boundPerAddress(server, connectionsPerAddressMax, (network) =>
      this.#add('connections_per_address_max', isAddressLogged ? network : undefined),
    )
  }

  /** Of a reason, since the start. */
  count(reason: RefusalReason): number {
    return this.#counts.get(reason) ?? 0
  }

  #add(reason: RefusalReason, address?: string): void {
    const count = this.count(reason) + 1
    this.#counts.set(reason, count)
    const told = this.#told.get(reason)
    const now = performance.now()
    if (told !== undefined && now - told.atMs < quietMs) return
    this.log.warn(
      { refused: count - (told?.count ?? 0), address },
      `connections are refused: ${reason.toUpperCase()} are open`,
    )
    this.#told.set(reason, { count, atMs: now })
  }
}

function boundPerAddress(server: Server, max: number, onrefused: (network: string) => void): void {
  const open = new Map<string, number>()
  // Before Node's own listener, which reads.
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return // it is gone already
    const network = networkOf(remoteAddress)
    const count = open.get(network) ?? 0
    if (count >= max) {
      socket.destroy()
      onrefused(network)
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
