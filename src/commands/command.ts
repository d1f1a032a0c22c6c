// What all commands have in common: help, exit codes, and what ends them from outside.

import { type Config, readConfig } from '../config.js'
import { explain, OperatorError } from '../operator-error.js'
import { Interrupted, listenForShutdown } from '../shutdown.js'
import { print } from './terminal.js'

/** The command was called wrongly; its usage is shown with the message. */
export class UsageError extends OperatorError {
  override name = 'UsageError'
}

/**
 * The number that an option gives.
 * @throws {UsageError} where it is not a whole one between the two
 */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} must be a whole number from ${min} to ${max}`)
}

/**
 * The configuration. Who misspelt a variable is told: the command does what it does without it, in the embedded database perhaps.
 * @throws {ConfigError} naming every wrong variable at once
 */
export function readEnvironment(): Config {
  const config = readConfig(process.env)
  for (const text of config.misspelt) process.stderr.write(`${text}\n`)
  return config
}

/**
 * What a command does. It gives its exit code, 0 if nothing else. After the interruption it gives back what it took, and may take as
 * long as that takes.
 */
export type Command = (args: readonly string[], interruption: AbortSignal) => Promise<number | undefined>

// What is given back after an interruption has so long.
const unwindTimeoutMs = 20_000

/**
 * Runs the process as a command. Its exit code is the command's own, 1 for an error, 2 for a `UsageError`, 128 and the signal's number
 * for an interruption. `--help` prints the usage.
 */
export function runCommand(usage: string, command: Command): void {
  const { requested } = listenForShutdown()
  process.stderr.on('error', () => {}) // that nobody reads it changes nothing
  const end = (error: Error) => {
    const { reason } = requested
    process.stderr.write(told(error instanceof OperatorError ? error : (reason ?? error), usage))
    process.exit(reason instanceof Interrupted ? reason.exitCode : isUsageError(error) ? 2 : 1)
  }
  requested.addEventListener('abort', () => setTimeout(end, unwindTimeoutMs, requested.reason))
  const args = process.argv.slice(2)
  const isHelp = args.includes('--help') || args.includes('-h')
  const run = isHelp ? print(usage) : command(args, requested)
  run.then((code) => {
    const { aborted, reason } = requested
    if (aborted && !(reason instanceof Interrupted)) end(reason)
    process.exitCode = code ?? 0
    if (aborted) process.exit() // what is not waited for may still be open
  }, end)
}

function told(error: Error, usage: string): string {
  if (isUsageError(error)) return `${usage}\n${error.message}\n` // what is wrong last, where a terminal shows it
  return `${explain(error)}\n`
}

// Or what `parseArgs` of node:util says.
function isUsageError(error: Error & { readonly code?: unknown }): boolean {
  return error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS')
}
