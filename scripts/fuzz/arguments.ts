// The command line of the fuzzer.

import { parseArgs } from 'node:util'
import { UsageError } from '../../src/commands/command.js'
import type { Target } from './requests.js'

export interface Arguments {
  readonly requests: number
  readonly seed: number
  /** The running service to send to; undefined: start one. */
  readonly service: Target | undefined
}

/** @throws {UsageError} */
export function readArguments(args: readonly string[]): Arguments {
  const text = { type: 'string' } as const
  const options = { requests: text, seed: text, url: text, key: text }
  const { requests = '10000', seed = '1', url, key } = parseArgs({ args: [...args], options }).values
  return {
    requests: wholeNumber('--requests', requests),
    seed: wholeNumber('--seed', seed),
    service: serviceAt(url, key),
  }
}

function serviceAt(url: string | undefined, key: string | undefined): Target | undefined {
  if (url === undefined && key === undefined) return undefined
  if (url === undefined || key === undefined) throw new UsageError('--url and --key require each other')
  if (/^https?:\/\/[^/]+\/?$/.test(url)) return { origin: new URL(url).origin, keys: { open: key } }
  throw new UsageError('--url must be the address of a service without a path, such as http://127.0.0.1:3000')
}

function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`${option} must be a whole number of at most nine digits`)
}
