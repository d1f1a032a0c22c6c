import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'

// Below those that systems give to outgoing connections, one of which could take it before it is listened on.
const range = [20_000, 30_000] as const

/** A port that nothing listens on. */
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
