// Shared by all commands: help, exit codes, interruption.

import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { print, type Stream } from 'contract-engine/lib/terminal'
import { type Config, readConfig } from '../config.js'
import { explain, OperatorError } from '../lib/operator-error.js'
import { Interrupted, listenForShutdown } from '../lib/shutdown.js'

/** An error in the arguments. The command prints its usage before the message. */
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
 * Checks an option that names somebody.
 * @throws {UsageError} unless it has 1 to 255 characters, none of which would break a line
 */
export function checkName(option: string, name: string): string {
  if (/^\P{Cc}{1,255}$/u.test(name)) return name
  throw new UsageError(
    `${option} must have 1 to 255 characters, and no line break or other control character`,
  )
}

/**
 * Reads the configuration. Unlike the service, a command refuses misspelt variables: it would use another
 * database, or create no role, and exit 0.
 * @throws {OperatorError} naming every invalid or misspelt variable
 */
export function readEnvironment({ env }: Pick<Surroundings, 'env'>): Config {
  const config = readConfig(env)
  if (config.misspelt.length > 0) throw new OperatorError(config.misspelt.join('\n'))
  return config
}

/** The parts of its process that a command uses. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: Stream
  readonly stderr: Stream
  /** When it is aborted, the command cleans up, for at most `cleanupTimeoutMs`, and rejects. */
  readonly interruption: AbortSignal
}

/** A command. It resolves with its exit code; undefined means 0. */
export type Command = (args: readonly string[], surroundings: Surroundings) => Promise<number | undefined>

const cleanupTimeoutMs = 20_000

/**
 * Runs a command, and resolves with the exit code: the command's own, 1 for an error, 2 for a `UsageError`,
 * or 128 plus the number of the signal that interrupted it. `--help` prints the usage.
 */
export async function runCommand(
  usage: string,
  command: Command,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr, interruption } = surroundings
  const fail = (error: Error) => {
    const { reason } = interruption
    stderr.write(messageOf(error instanceof OperatorError ? error : (reason ?? error), usage))
    return reason instanceof Interrupted ? reason.exitCode : isUsageError(error) ? 2 : 1
  }
  const isHelp = args.includes('--help') || args.includes('-h')
  try {
    const code = await (isHelp ? print(usage, stdout) : command(args, surroundings))
    const { aborted, reason } = interruption
    return aborted && !(reason instanceof Interrupted) ? fail(reason) : (code ?? 0)
  } catch (error) {
    return fail(error as Error) // nothing else is thrown
  }
}

/** Runs the process as a command. */
export async function runProcess(usage: string, command: Command): Promise<void> {
  const { env, stdout, stderr, argv } = process
  const { requested: interruption } = listenForShutdown()
  stderr.on('error', () => {}) // go on if its reader has gone
  const cleaned = once(interruption, 'abort').then(() => setTimeout(cleanupTimeoutMs))
  const late = cleaned.then(() => Promise.reject(interruption.reason))
  const inTime: Command = (...given) => Promise.race([command(...given), late])
  process.exitCode = await runCommand(usage, inTime, argv.slice(2), { env, stdout, stderr, interruption })
  // The command may have left something open.
  if (process.exitCode !== 0 || interruption.aborted) process.exit()
}

function messageOf(error: Error, usage: string): string {
  // The message comes last, where a terminal shows it.
  if (isUsageError(error)) return `${usage}\n${error.message}\n`
  return `${explain(error)}\n`
}

// A `UsageError`, or an error of `parseArgs` in node:util.
function isUsageError(error: Error & { readonly code?: unknown }): boolean {
  return error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS')
}
