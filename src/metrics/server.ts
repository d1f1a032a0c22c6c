// A server for the metrics alone, which need not be open to callers.

import { createServer, type Server } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'

/** Makes the server, which does not listen yet. */
export function createMetricsServer(
  metrics: { readonly contentType: string; metrics(): Promise<string> },
  log: FastifyBaseLogger,
): Server {
  return createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = await metrics.metrics().catch((err) => log.error({ err }, 'metrics failed'))
    response.writeHead(text === undefined ? 500 : 200, { 'Content-Type': metrics.contentType }).end(text)
  })
}

/** Closes the server, and the connections of whoever asks. */
export async function closeMetricsServer(server: Server): Promise<void> {
  server.closeAllConnections()
  if (server.listening) await new Promise((resolve) => server.close(resolve))
}
