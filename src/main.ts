// The process: configuration, contract, database, server, signals, exit code.

import cluster from 'node:cluster'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { handlers } from '../generated/handlers.js'
import { buildApp } from './app.js'
import { checkPlans } from './auth/client.js'
import { type Config, readConfig } from './config.js'
import { readContract } from './contract/read.js'
import type { Contract } from './contract/types.js'
import { connect } from './database/connect.js'
import { checkPooled } from './database/roles.js'
import type { Database } from './database/types.js'
import { unlessAborted, untilAborted } from './lib/abort.js'
import { createLog } from './log.js'
import { closeMetricsServer } from './metrics/server.js'
import { explain, OperatorError } from './operator-error.js'
import { contractFile, migrationsFolder } from './paths.js'
import { createCountsAnswerer } from './rate-limit/primary.js'
import { Interrupted, listenForShutdown } from './shutdown.js'
import { welcome } from './welcome.js'
import { listenToPrimary, primary, tellListening, Workers } from './workers.js'

const { requested, forced, request, force } = listenForShutdown()
process.stderr.on('error', () => {}) // that nobody reads it is no reason to stop

// For the database, once nobody waits for requests any more.
const forcedTimeoutMs = 5_000

async function main(): Promise<void> {
  const config = readConfig(process.env)
  if (!isWorker(config)) for (const text of config.misspelt) process.stderr.write(`${text}\n`)
  boundShutdown(config)
  const log = createLog(config.logLevel, config.workers > 1)
  if (isWorker(config)) followPrimary(log)
  else switchLogLevel(config, log)
  const contract = await readContract(contractFile)
  await checkPorts(config)
  const database = await connect({ ...config, migrationsFolder, log, interruption: requested })
  try {
    await unlessAborted(check(database, contract, config), requested)
    const parts = { config, contract, database, log }
    const { origin, stop } = await (config.workers > 1 && cluster.isPrimary ? supervise(parts) : serve(parts))
    if (isWorker(config)) tellListening(origin)
    // For the person at the terminal, and not in the log: it may hold a key.
    else process.stderr.write(await unlessAborted(welcome(contract, database, origin), forced))
    await untilAborted(requested)
    logStopping(log)
    await unlessAborted(stop(), forced)
  } finally {
    await database.close(forced)
  }
  log.info('stopped')
}

async function check(database: Database, contract: Contract, { handlerTimeoutMs }: Config): Promise<void> {
  await checkPooled(database, handlerTimeoutMs)
  await checkPlans(database.sql, contract)
}

interface Parts {
  readonly config: Config
  readonly contract: Contract
  readonly database: Database
  readonly log: Logger
}

/** What listens. */
interface Running {
  readonly origin: string
  /** Says that it stops, for a while if wanted, and answers what was accepted. */
  stop(): Promise<void>
}

// One of several processes of an instance. What has a cluster of its own, as `npm run dev`, lets each serve alone.
function isWorker({ workers }: Config): boolean {
  return workers > 1 && cluster.isWorker
}

// SIGUSR2 may come to all processes of an instance, or to the primary alone: it decides for them.
function followPrimary(log: Logger): void {
  listenToPrimary(request, (level) => {
    log.level = level
  })
  process.on('SIGUSR2', () => {})
}

// At SIGUSR2: debug, and back.
function switchLogLevel({ logLevel }: Config, log: Logger): void {
  process.on('SIGUSR2', () => {
    const level = log.level === logLevel ? 'debug' : logLevel
    log.level = 'debug' // or a level above info would say nothing of it
    log.info({ to: level }, 'log level changed')
    log.level = level
  })
}

async function serve(parts: Parts): Promise<Running> {
  const app = await unlessAborted(listen(parts), requested)
  return { origin: app.listeningOrigin, stop: () => close(app, parts.config) }
}

async function supervise({ config, contract, log }: Parts): Promise<Running> {
  const workers = new Workers(config.workers, log, createCountsAnswerer(contract.rateLimits))
  let origin = ''
  const metricsServer = config.metricsPort === undefined ? undefined : await createMetrics(log, () => origin)
  forced.addEventListener('abort', () => workers.kill())
  log.on('level-change', () => workers.followLogLevel())
  try {
    origin = await unlessAborted(workers.start(), requested)
    await listenForMetrics({ metricsServer, log }, config)
    const stop = async () => {
      await workers.stop(requested.reason instanceof Interrupted ? requested.reason.signal : 'SIGTERM')
      if (metricsServer !== undefined) await closeMetricsServer(metricsServer)
    }
    return { origin, stop }
  } catch (error) {
    workers.kill()
    throw error
  }
}

async function createMetrics(log: Logger, originOf: () => string): Promise<Server> {
  const { createWorkersMetrics } = await import('./metrics/metrics.js') // slow to load
  return createWorkersMetrics(log, originOf)
}

function boundShutdown({ shutdownDelayMs, shutdownTimeoutMs }: Config): void {
  const late = new OperatorError('SHUTDOWN_TIMEOUT_MS is over')
  requested.addEventListener('abort', () => setTimeout(force, shutdownDelayMs + shutdownTimeoutMs, late))
  forced.addEventListener('abort', () => setTimeout(() => process.exit(1), forcedTimeoutMs))
}

// So that nothing is made for a service that nobody could reach, and nothing touched beside one that runs.
async function checkPorts({ host, port, metricsPort }: Config): Promise<void> {
  if (cluster.isWorker) return // the port is its primary's, and shared
  const closers: (() => void)[] = []
  const check = async (port: number) => {
    const server = net.createServer((socket) => socket.destroy())
    await once(server.listen(port, host), 'listening')
    closers.push(() => server.close())
  }
  try {
    await check(port).catch(advise('PORT'))
    if (metricsPort !== undefined) await check(metricsPort).catch(advise('METRICS_PORT'))
  } finally {
    for (const close of closers) close()
  }
}

async function listen({ config, contract, database, log }: Parts): Promise<FastifyInstance> {
  const share = isWorker(config) && { config: shareOf(config), primary }
  const app = await buildApp({ config, contract, handlers, pools: database.pools, log, ...share })
  // A crowd that connects at once queues as far as the kernel allows; what is beyond Node's 511 would wait for seconds to be heard.
  const backlog = config.connectionsMax
  // An address: for `localhost` Fastify would make a second server, which knows nothing of bounds and of stops.
  const { address: host } = await lookup(config.host)
  await app.listen({ host, port: config.port, backlog }).catch(advise('PORT'))
  if (!isWorker(config)) await listenForMetrics(app, config)
  return app
}

// What of an instance's bounds is a worker's.
function shareOf(config: Config): Config {
  const { workers, connectionsMax, connectionsPerAddressMax, workMax } = config
  return {
    ...config,
    connectionsMax: Math.ceil(connectionsMax / workers),
    connectionsPerAddressMax: connectionsPerAddressMax && Math.ceil(connectionsPerAddressMax / workers),
    workMax: Math.ceil(workMax / workers),
  }
}

async function listenForMetrics(
  { metricsServer, log }: Pick<FastifyInstance, 'metricsServer' | 'log'>,
  config: Config,
): Promise<void> {
  if (metricsServer === undefined) return
  await once(metricsServer.listen(config.metricsPort, config.host), 'listening').catch(advise('METRICS_PORT'))
  log.info(metricsServer.address(), 'metrics at a port of their own')
}

function logStopping(log: Logger): void {
  if (requested.reason instanceof Interrupted) log.info({ signal: requested.reason.signal }, 'stopping')
  else log.fatal({ err: requested.reason }, 'stopping: an error nobody caught')
}

async function close(app: FastifyInstance, { shutdownDelayMs }: Config): Promise<void> {
  const { log, server } = app
  forced.addEventListener('abort', () => {
    const { reason } = forced
    log.error(
      reason instanceof OperatorError ? { reason: reason.message } : { err: reason },
      'stopping at once',
    )
    server.closeAllConnections()
  })
  app.announceClose()
  await delay(shutdownDelayMs)
  await app.close()
}

// What a person can mend is said plainly, with the variable that it takes.
const mendable: Readonly<Record<string, string>> = {
  EADDRINUSE: 'The port is taken: stop what uses it, or set VARIABLE to another; 0 takes a free one.',
  EACCES: 'Set VARIABLE to a port above 1023.',
  EADDRNOTAVAIL: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
  ENOTFOUND: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
}

function advise(variable: string) {
  return (error: NodeJS.ErrnoException): never => {
    const advice = mendable[error.code ?? '']?.replace('VARIABLE', variable)
    throw advice === undefined ? error : new OperatorError(`${error.message}\n${advice}`, { cause: error })
  }
}

// Whatever may still be open, the channel to a parent process for one.
main().then(
  () => process.exit(requested.reason instanceof Interrupted && !forced.aborted ? 0 : 1),
  (error) => {
    if (!requested.aborted) process.stderr.write('The service cannot start.\n')
    if (error !== forced.reason) process.stderr.write(`${explain(error)}\n`)
    process.exit(error instanceof Interrupted && error === requested.reason ? error.exitCode : 1)
  },
)
