// The process: configuration, contract, database, server, signals, exit code.

import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { buildApp } from './app.js'
import { type Config, readConfig } from './config.js'
import { type Contract, readContract } from './contract/document.js'
import { connect, type Database } from './database/connect.js'
import { createLog } from './log.js'
import { OperatorError } from './operator-error.js'
import { contractFile, migrationsFolder } from './project.js'
import { welcome } from './welcome.js'

async function start(): Promise<void> {
  const config = readConfig(process.env)
  const contract = await readContract(contractFile)
  const log = createLog(config.logLevel)
  const database = await connect({ ...config, migrationsFolder, log })
  const app = await listen(config, contract, database, log).catch(async (error) => {
    await database.close()
    throw error
  })
  stopGracefully(app, database, config)
  // For the person at the terminal, and not in the log: it may hold a key.
  process.stderr.write(await welcome(contract, database, app.listeningOrigin))
}

async function listen(
  config: Config,
  contract: Contract,
  database: Database,
  log: Logger,
): Promise<FastifyInstance> {
  const app = await buildApp({ config, contract, database, log })
  await app.listen({ host: config.host, port: config.port }).catch(advise('PORT'))
  await listenForMetrics(app, config).catch(advise('METRICS_PORT'))
  return app
}

async function listenForMetrics({ metricsServer, log }: FastifyInstance, config: Config): Promise<void> {
  if (metricsServer === undefined) return
  await once(metricsServer.listen(config.metricsPort, config.host), 'listening')
  log.info(metricsServer.address(), 'metrics at a port of their own')
}

// SIGTERM and SIGINT: say so, for a while if wanted, answer what was accepted, then let the database go. A deadline bounds it; a second
// signal ends it at once.
function stopGracefully(app: FastifyInstance, database: Database, config: Config): void {
  const { shutdownDelayMs, shutdownTimeoutMs } = config
  closeWithGrace({ delay: shutdownDelayMs + shutdownTimeoutMs, logger: app.log }, async ({ signal, err }) => {
    if (err) app.log.fatal({ err }, 'stopping: an error nobody caught')
    else app.log.info({ signal }, 'stopping')
    app.announceClose()
    if (shutdownDelayMs > 0) await setTimeout(shutdownDelayMs)
    await app.close()
    await database.close()
    app.log.info('stopped')
  })
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

// Anything else is a fault of ours and shows where it happened.
function explain(error: Error): string {
  return error instanceof OperatorError ? error.message : (error.stack ?? error.message)
}

start().catch((error) => {
  process.stderr.write(`The service cannot start.\n${explain(error)}\n`)
  process.exit(1) // whatever may still be open, the channel to a parent process for one
})
