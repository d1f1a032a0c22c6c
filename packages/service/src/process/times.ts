// Finds time limits of operations that other limits cut short.

import type { Contract } from 'contract-engine'
import type { Config } from '../config.js'
import { statementTimeoutMs } from '../database/pools.js'

type Times = Pick<Config, 'handlerTimeoutMs' | 'shutdownTimeoutMs'>

/**
 * Returns a warning for each time limit of an operation that a shutdown or a statement's limit cuts short.
 */
export function timeWarnings(
  { handlerTimeoutMs, shutdownTimeoutMs }: Times,
  { operations }: Pick<Contract, 'operations'>,
): string[] {
  const named = [...operations.values()].flatMap(({ method, path, limits: { timeoutMs } }) =>
    timeoutMs === undefined ? [] : [[`${method} ${path}: timeoutMs`, timeoutMs] as const],
  )
  const cut = [['HANDLER_TIMEOUT_MS', handlerTimeoutMs] as const, ...named]
    .filter(([, ms]) => ms > shutdownTimeoutMs)
    .map(
      ([name, ms]) =>
        `${name} is ${ms}: a shutdown ends its requests after SHUTDOWN_TIMEOUT_MS, ${shutdownTimeoutMs}`,
    )
  // Statements keep the common limit, because reads share a connection, and writes may hold locks.
  const ofStatement = statementTimeoutMs(handlerTimeoutMs)
  const short = named
    .filter(([, ms]) => statementTimeoutMs(ms) > ofStatement)
    .map(([name, ms]) => `${name} is ${ms}: a statement still has ${ofStatement} ms, by HANDLER_TIMEOUT_MS`)
  return [...cut, ...short]
}
