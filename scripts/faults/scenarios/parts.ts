// What scenarios have in common.

import { hasEnded } from '../../lib/child.js'
import type { Service } from '../../lib/service.js'
import { type Environment, type Report, unless } from '../environment.js'
import type { Ledger } from '../ledger.js'

/** Shorter than any freeze or silence, for some requests to meet it. */
export const shortTime = { HANDLER_TIMEOUT_MS: '2000' }

/** After which a connection is given up, in `shortTime`: PostgreSQL may work at a statement for a second, and a second is for the way. */
export const silenceMs = 2_000

/** Runs what needs a service with these variables, and says whether it lived. */
export async function withService(
  environment: Environment,
  env: Record<string, string>,
  act: (origin: string, pid: number, log: Service['log']) => Promise<Report>,
): Promise<Report> {
  const service = await environment.startService(env)
  const crashed = () => hasEnded(service.child)
  try {
    const report = await act(service.origin, service.child.pid ?? 0, service.log)
    return { ...report, broken: [...report.broken, ...unless(!crashed(), 'the service crashed')] }
  } finally {
    await service.stop('SIGKILL')
  }
}

/** Resolves when a read and a creation were served, with the milliseconds until then; an answer that is on its way does not count. */
export async function readAndCreated(environment: Environment, ledger: Ledger): Promise<number> {
  const began = performance.now()
  await environment.delay(50)
  const before = ['200', '201'].map((status) => ledger.count(status))
  while (['200', '201'].some((status, i) => ledger.count(status) === before[i])) await environment.delay(10)
  return performance.now() - began
}

/** Resolves when /readyz says so, with the milliseconds until then. */
export async function untilReady(
  environment: Environment,
  origin: string,
  isReady: boolean,
): Promise<number> {
  const began = performance.now()
  while ((await fetch(`${origin}/readyz`)).ok !== isReady) await environment.delay(20)
  return performance.now() - began
}

/** Whole milliseconds. */
export function longest(all: readonly number[]): number {
  return Math.round(Math.max(...all))
}
