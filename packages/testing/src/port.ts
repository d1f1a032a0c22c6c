import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { Test } from 'tap'

// Below the ephemeral ports: before the caller listens, an outgoing connection could take one of those.
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

/** Starts an HTTP server on a free port, and returns its origin. The end of the test closes it. */
export async function listen(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
