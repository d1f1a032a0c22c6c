// Neighbours of the clients: callers without a valid key from the same address.

import { createApiKey } from 'contract-service/internal/auth/api-key'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { contractFile } from 'contract-service/internal/lib/paths'
import { addKey } from '../../bench/database.js'
import { type Environment, type Report, unless } from '../environment.js'
import { timed, within, withService } from './parts.js'

const floodingCallers = 32

/**
 * Floods the service without a key and with unknown keys. Meanwhile valid keys that it has never served must
 * be let in, and its clients must not notice.
 */
export function floodWithoutKey(environment: Environment, forMs: number): Promise<Report> {
  const title = `a flood without a valid key from the address of the clients for ${forMs} ms`
  return withService(environment, title, {}, async ({ origin, ledger }) => {
    const { anonymous } = (await readServiceContract(contractFile)).rateLimits
    let isOver = false
    const refused = new Map<number, number>()
    const flood = Array.from({ length: floodingCallers }, async (_, i) => {
      while (!isOver) {
        const status = await listWith(origin, i % 2 === 0 ? undefined : createApiKey())
        refused.set(status, (refused.get(status) ?? 0) + 1)
      }
    })
    const newKeys: number[] = []
    let slowestMs = 0
    const beganAt = performance.now()
    try {
      while (performance.now() < beganAt + forMs || !refused.has(429)) {
        const key = await addKey(environment.database.sql)
        const tookMs = await timed(async () => newKeys.push(await listWith(origin, key)))
        slowestMs = Math.max(slowestMs, tookMs)
        await environment.delay(50)
      }
    } finally {
      isOver = true
      await Promise.all(flood)
    }
    const list = [...refused].map(([status, count]) => `${status}: ${count}`).join(', ')
    const minutes = Math.ceil((performance.now() - beganAt) / 60_000)
    const guesses = refused.get(401) ?? 0
    const isExact = guesses >= anonymous.perMinute && guesses <= minutes * anonymous.perMinute
    const lockedOut = newKeys.filter((status) => status !== 200)
    const failed = [...ledger.statuses.keys()].filter((end) => !['200', '201', '409'].includes(end))
    return {
      figures: [`the flood got ${list}; ${newKeys.length} new keys let in, each within ${slowestMs} ms`],
      violations: [
        ...unless(lockedOut.length === 0, `valid keys got ${lockedOut.join(', ')}`),
        ...unless(isExact && refused.size === 2, `the flood got ${list}`),
        ...unless(failed.length === 0, `clients got ${failed.join(', ')}`),
        ...within(environment.bounds.unnoticedMs, slowestMs, 'to let a new key in'),
      ],
    }
  })
}

async function listWith(origin: string, key: string | undefined): Promise<number> {
  const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const response = await fetch(`${origin}/v1/pets?limit=1`, { headers })
  await response.arrayBuffer()
  return response.status
}
