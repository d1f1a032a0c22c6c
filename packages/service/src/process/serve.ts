// Runs the HTTP server of the process, and the server of its metrics.

import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { buildApp, type Served, type Services } from '../app.js'
import type { ServiceContract } from '../auth/plans.js'
import type { Config } from '../config.js'
import type { Database, Pools } from '../database/database.js'
import { backlog } from '../http/connections.js'
import { unlessAborted } from '../lib/abort.js'
import { isLoopback } from '../lib/address.js'
import { OperatorError } from '../lib/operator-error.js'
import type { Shutdown } from '../lib/shutdown.js'
import { explainListenError } from './ports.js'
import { timeWarnings } from './times.js'

/** The parts of the service that a team's services may use. */
export interface ServiceParts {
  /** The configuration from the environment. */
  readonly config: Config
  readonly pools: Pools
  readonly log: Logger
  readonly contract: ServiceContract
}

/** The code of a team, apart from the contract and the migrations. */
export interface Team extends Omit<Served, 'contract'> {
  /** Makes the services that handlers use besides the database. If it rejects, the service does not start. */
  createServices(parts: ServiceParts): Promise<Services>
  /** Further contracts, each under a prefix of its own: see docs/adopting.md. */
  beside?(): Promise<readonly Served[]>
}

export interface ServeParts {
  readonly team: Team
  readonly config: Config
  readonly contract: ServiceContract
  readonly database: Database
  readonly log: Logger
  readonly shutdown: Shutdown
}

const noPublicUrl =
  'PUBLIC_URL is not set: links lead to the host that each request names, which some proxies replace'

/** A service that accepts requests. */
export interface RunningService {
  /** The origin at which it listens: `http://127.0.0.1:3000`. */
  readonly origin: string
  /**
   * Stops accepting requests after `SHUTDOWN_DELAY_MS`. Resolves when all accepted ones have their responses.
   */
  stop(): Promise<void>
}

/** Serves until it is stopped. */
export async function serve(parts: ServeParts): Promise<RunningService> {
  const app = await unlessAborted(listen(parts), parts.shutdown.requested)
  return { origin: app.listeningOrigin, stop: () => close(app, parts) }
}

async function listen({ team, config, contract, database, log }: ServeParts): Promise<FastifyInstance> {
  const parts = { config, contract, pools: database.pools, log }
  const services = await team.createServices(parts)
  const beside = await team.beside?.()
  const app = await buildApp({ ...team, ...parts, services, beside })
  // Resolve the name first: for `localhost` Fastify opens a second server, without our limits and shutdown.
  const { address: host } = await lookup(config.host)
  const { port, reusePort } = config
  const options = { host, port, reusePort, backlog } // reusePort is missing from the types
  await app.listen(options).catch(explainListenError('PORT'))
  await listenForMetrics(app, config)
  if (config.publicUrl === undefined && !isLoopback(host)) app.log.warn(noPublicUrl)
  for (const warning of timeWarnings(config, contract)) log.warn(warning)
  return app
}

async function close(app: FastifyInstance, { config, shutdown: { forced } }: ServeParts): Promise<void> {
  forced.addEventListener('abort', () => {
    const { reason } = forced
    const fields = reason instanceof OperatorError ? { reason: reason.message } : { err: reason }
    app.log.error(fields, 'forcing shutdown')
    app.server.closeAllConnections()
  })
  app.announceClose()
  await delay(config.shutdownDelayMs)
  await app.close()
}

async function listenForMetrics(
  { metricsServer, log }: FastifyInstance,
  { metricsPort, host }: Config,
): Promise<void> {
  if (metricsServer === undefined) return
  await once(metricsServer.listen(metricsPort, host), 'listening').catch(explainListenError('METRICS_PORT'))
  log.info(metricsServer.address(), 'metrics server listening')
}
