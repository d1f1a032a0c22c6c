// The metrics server, on a port that clients need not reach. It also serves health, so that probes do not
// compete with clients for connections.

import { createServer, type Server } from 'node:http'
import type { Contract } from 'contract-engine'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { boundPipelines, bufferBytes } from '../http/pipelining.js'
import { healthPaths, healthPathsOf } from '../http/service-paths.js'
import { singleFlight } from '../lib/shared-calls.js'

/** A response to `/healthz` or `/readyz`. */
export interface Health {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** Returns the response to `/healthz` or `/readyz`. */
export type GetHealth = (url: string) => Promise<Health>

/** Returns a function that gets health responses from an application, without a connection to it. */
export function healthOf(app: FastifyInstance, contract: Contract): GetHealth {
  const { live, ready } = healthPathsOf(contract)
  return async (url) => {
    const { statusCode, headers, body } = await app.inject(url === healthPaths.ready ? ready : live)
    return { status: statusCode, contentType: String(headers['content-type']), body }
  }
}

const unknownHealth: Health = { status: 503, contentType: 'text/plain', body: '' }

/** Creates the server. It does not listen yet. Scrapes that arrive together share one collection. */
export function createMetricsServer(
  metrics: { readonly contentType: string; metrics(): Promise<string> },
  health: GetHealth,
  log: FastifyBaseLogger,
): Server {
  const collect = singleFlight(() => metrics.metrics())
  const server = createServer({ highWaterMark: bufferBytes }, async (request, response) => {
    const { method, url = '' } = request
    if (method === 'GET' && (url === healthPaths.live || url === healthPaths.ready)) {
      const { status, contentType, body } = await health(url).catch(() => unknownHealth)
      response.writeHead(status, { 'Content-Type': contentType }).end(body)
      return
    }
    if (method !== 'GET' || url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = await collect().catch((err) => log.error({ err }, 'cannot collect metrics'))
    response.writeHead(text === undefined ? 500 : 200, { 'Content-Type': metrics.contentType }).end(text)
  })
  boundPipelines(server)
  return server
}

/** Closes the server and its connections. */
export async function closeMetricsServer(server: Server): Promise<void> {
  server.closeAllConnections()
  if (server.listening) await new Promise((resolve) => server.close(resolve))
}
