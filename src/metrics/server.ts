// A server for the metrics alone, which need not be open to callers.

import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Makes the server, which does not listen yet. The application's close ends it. */
export function createMetricsServer(app: FastifyInstance, registry: Registry): Server {
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = await registry.metrics().catch((err) => app.log.error({ err }, 'metrics failed'))
    response.writeHead(text === undefined ? 500 : 200, { 'Content-Type': registry.contentType }).end(text)
  })
  app.addHook('onClose', async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  })
  return server
}
