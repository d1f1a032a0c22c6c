// Shared by all commands: help, exit codes, interruption.

import { type Config, readConfig } from '../config.js'
import { explain, OperatorError } from '../lib/operator-error.js'
import { Interrupted, listenForShutdown } from '../lib/shutdown.js'
import { print } from './terminal.js'

/** Wrong arguments: the usage is printed before the message. */
export class UsageError extends OperatorError {
  override name = 'UsageError'
}

/**
 * Parses an option's whole number.
 * @throws {UsageError} unless it is one from `min` to `max`
 */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} must be a whole number from ${min} to ${max}`)
}

/**
 * Reads the configuration. Unlike the service, a command refuses misspelt variables: it would use another
 * database, or create no role, and exit 0.
 * @throws {OperatorError} naming every invalid or misspelt variable
 */
export function readEnvironment(): Config {
  const config = readConfig(process.env)
  if (config.misspelt.length > 0) throw new OperatorError(config.misspelt.join('\n'))
  return config
}

/**
 * A command: resolves with its exit code, by default 0. When `interruption` is aborted it cleans up, for at
 * most `cleanupTimeoutMs`, and rejects.
 */
export type Command = (args: readonly string[], interruption: AbortSignal) => Promise<number | undefined>

const cleanupTimeoutMs = 20_000

/**
 * Runs the process as a command. The exit code is the command's own, 1 for an error, 2 for a `UsageError`, or
 * 128 plus the number of the signal that interrupted it. `--help` prints the usage.
 */
export function runCommand(usage: string, command: Command): void {
  const { requested } = listenForShutdown()
  process.stderr.on('error', () => {}) // go on if the reader of standard error has gone
  const end = (error: Error) => {
    const { reason } = requested
    process.stderr.write(messageOf(error instanceof OperatorError ? error : (reason ?? error), usage))
    process.exit(reason instanceof Interrupted ? reason.exitCode : isUsageError(error) ? 2 : 1)
  }
  requested.addEventListener('abort', () => setTimeout(end, cleanupTimeoutMs, requested.reason))
  const args = process.argv.slice(2)
  const isHelp = args.includes('--help') || args.includes('-h')
  const run = isHelp ? print(usage) : command(args, requested)
  run.then((code) => {
    const { aborted, reason } = requested
    if (aborted && !(reason instanceof Interrupted)) end(reason)
    process.exitCode = code ?? 0
    if (aborted) process.exit() // the command may have left something open
  }, end)
}

function messageOf(error: Error, usage: string): string {
  // The message last, where a terminal shows it.
  if (isUsageError(error)) return `${usage}\n${error.message}\n`
  return `${explain(error)}\n`
}

// A `UsageError`, or an error of `parseArgs` in node:util.
function isUsageError(error: Error & { readonly code?: unknown }): boolean {
  return error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS')
}
