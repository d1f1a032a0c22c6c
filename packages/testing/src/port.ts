import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'

// Below the ephemeral ports: an outgoing connection could take one of those before the caller listens.
const range = [20_000, 30_000] as const

/** Returns a port that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...range)
    const server = net.createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
