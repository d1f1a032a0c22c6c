// Times of operations that other times cut short.

import type { Contract } from 'contract-engine'
import type { Config } from '../config.js'
import { statementTimeoutMs } from '../database/pools.js'

type Times = Pick<Config, 'handlerTimeoutMs' | 'shutdownTimeoutMs'>

/** A warning for each time that a response may take, and a shutdown or a statement may not. */
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
  // A read shares its connection with others, which would wait for it, and a write may hold locks.
  const ofStatement = statementTimeoutMs(handlerTimeoutMs)
  const short = named
    .filter(([, ms]) => statementTimeoutMs(ms) > ofStatement)
    .map(([name, ms]) => `${name} is ${ms}: a statement still has ${ofStatement} ms, by HANDLER_TIMEOUT_MS`)
  return [...cut, ...short]
}
