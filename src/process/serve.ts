// Serving: the HTTP server of one process, or the primary that supervises several workers.

import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { handlers } from '../../generated/handlers.js'
import { buildApp } from '../app.js'
import type { Config } from '../config.js'
import type { Database } from '../database/database.js'
import { unlessAborted } from '../lib/abort.js'
import { OperatorError } from '../lib/operator-error.js'
import { Interrupted, type Shutdown } from '../lib/shutdown.js'
import type { Contract } from '../openapi/index.js'
import { createPrimaryCounters } from '../rate-limit/primary.js'
import { closeMetricsServer, type GetHealth, healthOf } from '../telemetry/metrics-server.js'
import { explainListenError } from './ports.js'
import { primary, reportHealth, roleOf, Workers } from './workers.js'

export interface ServeParts {
  readonly config: Config
  readonly contract: Contract
  readonly database: Database
  readonly log: Logger
  readonly shutdown: Shutdown
}

/** A service that accepts requests. */
export interface RunningService {
  /** Where it listens: `http://127.0.0.1:3000`. */
  readonly origin: string
  /** Stops accepting requests after `SHUTDOWN_DELAY_MS`. Resolves when the accepted have their responses. */
  stop(): Promise<void>
}

/** Serves in this process, alone or as a worker. */
export async function serve(parts: ServeParts): Promise<RunningService> {
  const app = await unlessAborted(listen(parts), parts.shutdown.requested)
  return { origin: app.listeningOrigin, stop: () => close(app, parts) }
}

async function listen({ config, contract, database, log }: ServeParts): Promise<FastifyInstance> {
  const isWorker = roleOf(config) === 'worker'
  const app = await buildApp({
    config,
    contract,
    handlers,
    pools: database.pools,
    log,
    ...(isWorker && { config: workerConfig(config), primary }),
  })
  // In a burst, connections beyond the backlog (Node's default: 511) would retry for seconds.
  const backlog = config.connectionsMax
  // Resolve the name first: for `localhost` Fastify opens a second server, without our limits and shutdown.
  const { address: host } = await lookup(config.host)
  await app.listen({ host, port: config.port, backlog }).catch(explainListenError('PORT'))
  if (isWorker) reportHealth(healthOf(app, contract))
  else await listenForMetrics(app.metricsServer, app.log, config)
  return app
}

// A worker's part of the limits that hold for the whole instance.
function workerConfig(config: Config): Config {
  const { workers, connectionsMax, connectionsPerAddressMax, workMax } = config
  return {
    ...config,
    connectionsMax: Math.ceil(connectionsMax / workers),
    connectionsPerAddressMax: connectionsPerAddressMax && Math.ceil(connectionsPerAddressMax / workers),
    workMax: Math.ceil(workMax / workers),
  }
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

/** Starts the workers, and serves the sum of their metrics. */
export async function supervise({ config, contract, log, shutdown }: ServeParts): Promise<RunningService> {
  const { requested, forced } = shutdown
  const workers = new Workers(config.workers, log, createPrimaryCounters(contract.rateLimits))
  const health: GetHealth = (url) => workers.health(url)
  const metricsServer = config.metricsPort === undefined ? undefined : await createMetrics(log, health)
  forced.addEventListener('abort', () => workers.kill())
  log.on('level-change', () => workers.followLogLevel())
  let origin: string
  try {
    origin = await unlessAborted(workers.start(), requested)
    await listenForMetrics(metricsServer, log, config)
  } catch (error) {
    workers.kill()
    throw error
  }
  const stop = async () => {
    await workers.stop(requested.reason instanceof Interrupted ? requested.reason.signal : 'SIGTERM')
    if (metricsServer !== undefined) await closeMetricsServer(metricsServer)
  }
  return { origin, stop }
}

async function createMetrics(log: Logger, health: GetHealth): Promise<Server> {
  const { createWorkersMetrics } = await import('../telemetry/metrics.js') // slow to load
  return createWorkersMetrics(log, health)
}

async function listenForMetrics(
  server: Server | undefined,
  log: FastifyBaseLogger,
  { metricsPort, host }: Config,
): Promise<void> {
  if (server === undefined) return
  await once(server.listen(metricsPort, host), 'listening').catch(explainListenError('METRICS_PORT'))
  log.info(server.address(), 'metrics server listening')
}
