// What the package's commands share: `--help`, wrong usage, and errors that are told by their messages.

import { type ParseArgsConfig, parseArgs } from 'node:util'

/** Where a command writes. */
export interface Streams {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/** The error of a command that was called wrongly, if the usage alone does not say why. */
export class WrongUsage extends Error {}

type Options = NonNullable<ParseArgsConfig['options']>
type Parsed<Own extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Own; allowPositionals: true }>
>

export interface Command<Own extends Options> {
  readonly usage: string
  /** Including `help`. */
  readonly options: Own
  /**
   * True if an error is told by its message alone, because the message says what is wrong with the command's
   * input.
   */
  isTold(error: unknown): boolean
}

/**
 * Runs a command. Resolves to the result of `run`, or else to 0 for `--help`, 1 for an error that is told,
 * and 2 for wrong usage. Rejects with any other error.
 */
export async function runCommandLine<const Own extends Options>(
  { usage, options, isTold }: Command<Own>,
  args: readonly string[],
  { stdout, stderr }: Streams,
  run: (parsed: Parsed<Own>) => Promise<number>,
): Promise<number> {
  const fail = (text: string, code: number) => {
    stderr.write(`${text}\n`)
    return code
  }
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true })
    if (!('help' in parsed.values) || parsed.values.help !== true) return await run(parsed)
    stdout.write(usage)
    return 0
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (error instanceof WrongUsage) return fail(message === '' ? usage : `${usage}\n${message}`, 2)
    if (code.startsWith('ERR_PARSE_ARGS')) return fail(`${usage}\n${message}`, 2)
    if (isTold(error)) return fail(message, 1)
    throw error
  }
}
