// Shared by the scenarios.

import { hasEnded } from '../../lib/child.js'
import type { Service } from '../../lib/service.js'
import { type Environment, type Report, unless } from '../environment.js'
import type { Ledger } from '../ledger.js'

/** Shorter than any freeze or packet loss, so that some requests time out. */
export const shortTime = { HANDLER_TIMEOUT_MS: '2000' }

/** After which an unresponsive connection is closed with `shortTime`: a second for the statement and a second for the network. */
export const unresponsiveMs = 2_000

/** Runs a scenario with a service, and adds a violation if the service crashed. */
export async function withService(
  environment: Environment,
  env: Record<string, string>,
  act: (origin: string, pid: number, log: Service['log']) => Promise<Report>,
): Promise<Report> {
  const service = await environment.startService(env)
  const crashed = () => hasEnded(service.child)
  try {
    const report = await act(service.origin, service.child.pid ?? 0, service.log)
    return { ...report, violations: [...report.violations, ...unless(!crashed(), 'the service crashed')] }
  } finally {
    await service.stop('SIGKILL')
  }
}

/** Resolves when a read and a create succeed, with the milliseconds until then. Responses already under way do not count. */
export async function readAndCreated(environment: Environment, ledger: Ledger): Promise<number> {
  const startedAt = performance.now()
  await environment.delay(50)
  const before = ['200', '201'].map((status) => ledger.count(status))
  while (['200', '201'].some((status, i) => ledger.count(status) === before[i])) await environment.delay(10)
  return performance.now() - startedAt
}

/** Resolves when /readyz reports this state, with the milliseconds until then. */
export async function untilReady(
  environment: Environment,
  origin: string,
  isReady: boolean,
): Promise<number> {
  const startedAt = performance.now()
  while ((await fetch(`${origin}/readyz`)).ok !== isReady) await environment.delay(20)
  return performance.now() - startedAt
}

/** The longest time, in whole milliseconds. */
export function longest(times: readonly number[]): number {
  return Math.round(Math.max(...times))
}
