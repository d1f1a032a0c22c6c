// The process of a service: reads the configuration, opens the database, serves until asked to stop, and
// exits.

import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { serviceContract } from '../auth/contract.js'
import { type Config, readConfig } from '../config.js'
import { connect } from '../database/connect.js'
import { unlessAborted, untilAborted } from '../lib/abort.js'
import { createLog, toggleDebugOnSignal } from '../lib/log.js'
import { explain, OperatorError } from '../lib/operator-error.js'
import { Interrupted, listenForShutdown, type Shutdown } from '../lib/shutdown.js'
import { checkDatabase } from './check-database.js'
import { fitConnections } from './open-files.js'
import { checkPorts } from './ports.js'
import { serve, type Team } from './serve.js'
import { welcome } from './welcome.js'

// The time for closing the database once the shutdown is forced.
const forcedTimeoutMs = 5_000

/**
 * Runs this process as a service, then exits: with 0 after a signal and an orderly stop, with 1 after an
 * error, or with 128 plus the number of a signal that came before the service was ready.
 */
export async function start(team: Team): Promise<never> {
  process.stderr.on('error', () => {}) // a closed stderr must not stop the service
  keepRequestsYoung()
  const shutdown = listenForShutdown()
  const { requested, forced } = shutdown
  // process.exit, because open handles such as the channel to a parent process would keep the process alive.
  try {
    await run(team, shutdown)
    process.exit(requested.reason instanceof Interrupted && !forced.aborted ? 0 : 1)
  } catch (error) {
    if (!requested.aborted) process.stderr.write('startup failed: ')
    if (error !== forced.reason) process.stderr.write(`${explain(error as Error)}\n`)
    process.exit(error instanceof Interrupted && error === requested.reason ? error.exitCode : 1)
  }
}

// Without this flag, V8 decides by the first requests of a process whether to allocate some of their objects
// in the old generation. There, each keeps the rest of its request until a full garbage collection. On Node
// 26, V8 decided so in 8 of 21 processes, for good: a creation took 67 µs instead of 52, and p99 doubled.
// Node 20 does not do this.
function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

async function run(team: Team, shutdown: Shutdown): Promise<void> {
  const { requested, forced } = shutdown
  const configured = readConfig(process.env)
  limitShutdown(configured, shutdown)
  const log = createLog(configured.logLevel)
  const config = fitConnections(configured, log)
  for (const warning of [...config.misspelt, ...config.ignored]) process.stderr.write(`${warning}\n`)
  toggleDebugOnSignal(log, config.logLevel)
  refuseDebugger(log)
  const contract = await serviceContract()
  await checkPorts(config) // fail before creating or migrating a database if a port is already in use
  const database = await connect(config, log, requested)
  try {
    const checked = checkDatabase(database, contract, config, { log, interruption: requested })
    await unlessAborted(checked, requested)
    const parts = { team, config, contract, database, log, shutdown }
    const { origin, stop } = await serve(parts)
    // To the terminal, not to the log, because the message may contain a key.
    const { schemes } = team
    const message = welcome(contract, database, { origin, publicUrl: config.publicUrl, schemes })
    process.stderr.write(await unlessAborted(message, forced))
    await untilAborted(requested)
    logStop(log, requested.reason)
    await unlessAborted(stop(), forced)
  } finally {
    await database.close(forced)
  }
  log.info('stopped')
}

// On SIGUSR1, Node would open its debugger, with which every user of the machine could run code in this
// process.
function refuseDebugger(log: Logger): void {
  process.on('SIGUSR1', () => log.warn('SIGUSR1 has no effect; SIGUSR2 changes the log level'))
}

function logStop(log: Logger, reason: unknown): void {
  if (reason instanceof Interrupted) log.info({ signal: reason.signal }, 'stopping')
  else log.fatal({ err: reason }, 'stopping after an uncaught error')
}

function limitShutdown(config: Config, { requested, forced, force }: Shutdown): void {
  const { shutdownDelayMs, shutdownTimeoutMs } = config
  const timeout = new OperatorError('SHUTDOWN_TIMEOUT_MS exceeded')
  requested.addEventListener('abort', () => {
    setTimeout(() => force(timeout), shutdownDelayMs + shutdownTimeoutMs)
  })
  forced.addEventListener('abort', () => setTimeout(() => process.exit(1), forcedTimeoutMs))
}
