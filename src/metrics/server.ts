// A server for the metrics, which need not be open to callers, and for health: whoever probes it there needs no place among them.

import { createServer, type Server } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'

/** Answers `/healthz` and `/readyz`, in JSON. */
export type AskHealth = (url: string) => Promise<{ readonly status: number; readonly body: string }>

/** Makes the server, which does not listen yet. */
export function createMetricsServer(
  metrics: { readonly contentType: string; metrics(): Promise<string> },
  health: AskHealth,
  log: FastifyBaseLogger,
): Server {
  return createServer(async (request, response) => {
    const { method, url = '' } = request
    if (method === 'GET' && ['/healthz', '/readyz'].includes(url)) {
      const { status, body } = await health(url).catch(() => ({ status: 503, body: '' }))
      response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(body)
      return
    }
    if (method !== 'GET' || url !== '/metrics') {
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
