// The service process: reads the configuration, opens the database, serves until asked to stop, and exits.

import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { serviceContract } from './auth/contract.js'
import { schemes } from './auth/schemes.js'
import { type Config, readConfig } from './config.js'
import { connect } from './database/connect.js'
import { unlessAborted, untilAborted } from './lib/abort.js'
import { createLog, toggleDebugOnSignal } from './lib/log.js'
import { explain, OperatorError } from './lib/operator-error.js'
import { Interrupted, listenForShutdown } from './lib/shutdown.js'
import { checkDatabase } from './process/check-database.js'
import { checkPorts } from './process/ports.js'
import { serve } from './process/serve.js'
import { welcome } from './process/welcome.js'

const shutdown = listenForShutdown()
const { requested, forced } = shutdown
process.stderr.on('error', () => {}) // a closed stderr must not stop the service

// Or V8 decides by a process's first requests whether to allocate some of their objects in the old
// generation, where each keeps the rest of its request until a full garbage collection. On Node 26 it did in
// 8 of 21 processes, for good: a creation took 67 µs instead of 52, and p99 doubled. Node 20 decides
// otherwise.
setFlagsFromString('--no-allocation-site-pretenuring')

// For closing the database once the shutdown is forced.
const forcedTimeoutMs = 5_000

async function main(): Promise<void> {
  const config = readConfig(process.env)
  limitShutdown(config)
  const log = createLog(config.logLevel)
  for (const warning of [...config.misspelt, ...config.ignored]) process.stderr.write(`${warning}\n`)
  toggleDebugOnSignal(log, config.logLevel)
  refuseDebugger(log)
  const contract = await serviceContract()
  await checkPorts(config) // fail before creating or migrating a database if a port is already in use
  const database = await connect(config, log, requested)
  try {
    const checked = checkDatabase(database, contract, config, { log, interruption: requested })
    await unlessAborted(checked, requested)
    const parts = { config, contract, database, log, shutdown }
    const { origin, stop } = await serve(parts)
    // To the terminal, not to the log: it may contain a key.
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

// Node would open its debugger, with which every user of the machine could run code in this process.
function refuseDebugger(log: Logger): void {
  process.on('SIGUSR1', () => log.warn('SIGUSR1 has no effect; SIGUSR2 changes the log level'))
}

function logStop(log: Logger, reason: unknown): void {
  if (reason instanceof Interrupted) log.info({ signal: reason.signal }, 'stopping')
  else log.fatal({ err: reason }, 'stopping after an uncaught error')
}

function limitShutdown({ shutdownDelayMs, shutdownTimeoutMs }: Config): void {
  const timeout = new OperatorError('SHUTDOWN_TIMEOUT_MS exceeded')
  requested.addEventListener('abort', () => {
    setTimeout(() => shutdown.force(timeout), shutdownDelayMs + shutdownTimeoutMs)
  })
  forced.addEventListener('abort', () => setTimeout(() => process.exit(1), forcedTimeoutMs))
}

// process.exit, because open handles such as the channel to a parent process would keep the process alive.
main().then(
  () => process.exit(requested.reason instanceof Interrupted && !forced.aborted ? 0 : 1),
  (error) => {
    if (!requested.aborted) process.stderr.write('startup failed: ')
    if (error !== forced.reason) process.stderr.write(`${explain(error)}\n`)
    process.exit(error instanceof Interrupted && error === requested.reason ? error.exitCode : 1)
  },
)
