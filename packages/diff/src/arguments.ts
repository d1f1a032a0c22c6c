// The arguments of the command.

import { parseArgs } from 'node:util'
import { DiffError } from './diff-error.js'

/** What to compare with, and how to report it. */
export interface Arguments {
  /** A file, or a git ref if `isRef` is true. */
  readonly before: string
  readonly isRef: boolean
  readonly file: string
  readonly format: 'text' | 'github' | 'json'
  /** The extensions of the document in which a `$ref` is followed. */
  readonly extensions: readonly string[]
  /** The folder that must contain the files of both contracts; by default, the folder of each. */
  readonly root?: string
}

/**
 * Reads the arguments.
 * @throws {DiffError} if they are wrong
 */
export function readArguments(args: readonly string[]): Arguments | 'help' {
  const { values, positionals } = parse(args)
  const { git: isRef = false, extension: extensions = [], root } = values
  if (values.help) return 'help'
  const [first = '', second = '', ...rest] = positionals
  if (second === '' || rest.length > 0) {
    const needed = isRef ? 'a contract and one git ref, such as HEAD,' : 'two contracts, the older one first,'
    throw new DiffError(`${needed} are required; see --help`)
  }
  const [before, file] = isRef ? [second, first] : [first, second]
  const given = root === undefined ? {} : { root }
  return { before, file, isRef, extensions, ...given, format: formatOf(values) }
}

function formatOf({ json, format }: { json?: boolean; format?: string }): Arguments['format'] {
  if (json && format !== undefined) throw new DiffError('--json and --format are mutually exclusive')
  if (json) return 'json'
  if (format === undefined) return 'text'
  if (format === 'text' || format === 'github') return format
  throw new DiffError(`unknown format ${format}; the formats are text and github`)
}

function parse(args: readonly string[]) {
  const options = {
    format: { type: 'string' },
    json: { type: 'boolean' },
    git: { type: 'boolean' },
    extension: { type: 'string', multiple: true },
    root: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new DiffError(`${(error as Error).message}; see --help`)
  }
}
