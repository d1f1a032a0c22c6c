// The arguments of contract:diff.

import { parseArgs } from 'node:util'
import { DiffError } from './diff-error.js'

/** What to compare with, and how to report it. */
export interface Arguments {
  /** A git ref. */
  readonly ref: string
  readonly format: 'text' | 'github' | 'json'
}

/**
 * Reads the arguments.
 * @throws {DiffError} when they are wrong
 */
export function readArguments(args: readonly string[]): Arguments | 'help' {
  const { values, positionals } = parse(args)
  const [ref = '', ...rest] = positionals
  if (values.help) return 'help'
  if (ref === '' || rest.length > 0)
    throw new DiffError('exactly one git ref is required, such as HEAD; see --help')
  if (values.json && values.format !== undefined)
    throw new DiffError('--json and --format are mutually exclusive')
  if (values.json) return { ref, format: 'json' }
  const { format = 'text' } = values
  if (format === 'text' || format === 'github') return { ref, format }
  throw new DiffError(`unknown format ${format}; the formats are text and github`)
}

function parse(args: readonly string[]) {
  const options = {
    format: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new DiffError(`${(error as Error).message}; see --help`)
  }
}
