// Connections beyond CONNECTIONS_MAX, which Node closes without a word to anybody.

import type { Server } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'

// However many there are, the log has a line in so long.
const quietMs = 60_000

/** Counts those of a server, and has the log tell of them. */
export class RefusedConnections {
  #count = 0
  #told = { count: 0, atMs: Number.NEGATIVE_INFINITY }

  constructor(server: Server, log: FastifyBaseLogger) {
    server.on('drop', () => {
      this.#count++
      const now = performance.now()
      if (now - this.#told.atMs < quietMs) return
      log.warn(
        { refused: this.#count - this.#told.count },
        'connections are refused: CONNECTIONS_MAX are open',
      )
      this.#told = { count: this.#count, atMs: now }
    })
  }

  /** Since the start. */
  get count(): number {
    return this.#count
  }
}
