// Options of connections that come from files, such as certificates: read again whenever a connection opens.
// Otherwise a renewed certificate or password would need a restart.

import { readFileSync } from 'node:fs'
import { OperatorError } from '../lib/operator-error.js'

/** An option of a connection that comes from files. */
export interface FromFiles {
  /**
   * Called before each connection.
   * @throws {OperatorError} naming the file that cannot be used; the option keeps its value
   */
  refresh(): void
}

/** Refreshes the options of a connection that come from files. */
export function refreshAll(options: readonly unknown[]): void {
  for (const each of options) if (isFromFiles(each)) each.refresh()
}

function isFromFiles(option: unknown): option is FromFiles {
  return typeof (option as Partial<FromFiles> | null | undefined)?.refresh === 'function'
}

/**
 * Reads a file.
 * @param parameter the parameter that names the file, for the error
 */
export function readNamed(file: string, parameter: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`${parameter} cannot be read: ${(error as Error).message}`)
  }
}
