// Reads that fail, or take long, for all instances: HAProxy must serve as many of them as an instance does.

import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseProxy } from 'contract-service/tools/lib/database-proxy'
import { behindHaproxy } from '../behind-haproxy.js'
import { type Environment, type Report, unless } from '../environment.js'
import { withProxy } from './parts.js'

interface Fault {
  readonly title: string
  /** Begins it. Returns how to end it. */
  begin(proxy: DatabaseProxy, { sql }: Environment['database']): Promise<() => unknown>
}

const slowMs = 1_200

const faults: readonly Fault[] = [
  {
    title: 'PostgreSQL hangs',
    begin: async (proxy) => {
      proxy.silence()
      return () => proxy.resume()
    },
  },
  {
    title: `PostgreSQL takes ${slowMs} ms`,
    begin: async (proxy) => {
      proxy.slow(slowMs)
      return () => proxy.slow(0)
    },
  },
  {
    title: 'the table is gone',
    begin: async (_, { sql }) => {
      await sql`alter table pets rename to gone`
      return () => sql`alter table gone rename to pets`
    },
  },
  {
    title: 'the table is locked',
    begin: async (_, { sql }) => {
      let end = () => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      const locked = new Promise<void>((resolve, reject) => {
        sql
          .begin(async (sql) => {
            await sql`lock table pets`
            resolve()
            await ended
          })
          .catch(reject)
      })
      await locked
      return end
    },
  },
  {
    title: 'connections are cut five times a second',
    begin: async (proxy) => {
      const timer = setInterval(() => {
        proxy.admit(false)
        proxy.admit(true)
      }, 200)
      return () => clearInterval(timer)
    },
  },
]

// What shares of reads may differ by: they are counted at other moments.
const tolerance = 0.2

/** Plays each fault for so long. Readers ask HAProxy, and as many an instance, once HAProxy knows of it. */
export function shareReads(environment: Environment, forMs: number): Promise<Report> {
  const title = `reads fail or take long in ${faults.length} ways, ${forMs} ms each, behind HAProxy`
  const checkMs = Math.min(2_000, forMs / 10)
  return withProxy(environment, (proxy, env) =>
    behindHaproxy(environment, { ...env, ...usualTime }, checkMs, async (balanced, [instance]) => {
      const figures: string[] = []
      const violations: string[] = []
      for (const { title, begin } of faults) {
        await untilServed(environment, balanced)
        const end = await begin(proxy, environment.database)
        await environment.delay(Math.max(checkMs * 3, noticedMs)) // out after three checks
        const [direct, behind] = await Promise.all(
          [instance?.origin ?? '', balanced].map((origin) => shareServed(environment, origin, forMs)),
        )
        await end()
        const shares = `${inPercent(behind)} behind HAProxy, ${inPercent(direct)} directly`
        figures.push(`${title}: reads served ${shares}`)
        violations.push(
          ...unless(Math.abs(Number(direct) - Number(behind)) <= tolerance, `${title}: ${shares}`),
        )
      }
      return { title, figures, violations }
    }),
  )
}

// Of a response, and so two seconds of a statement.
const usualTime = { HANDLER_TIMEOUT_MS: '10000' }
// The time of a statement, after which it is known that none is answered.
const noticedMs = 3_500

async function shareServed(environment: Environment, origin: string, forMs: number): Promise<number> {
  const { clients } = environment
  const until = performance.now() + forMs
  let [served, all] = [0, 0]
  const repeat = async () => {
    while (performance.now() < until) {
      const status = await read(environment, origin)
      all++
      if (status === 200) served++
      await delay(Math.max(clients.pauseMs, 20)) // HAProxy refuses at once
    }
  }
  await Promise.all(Array.from({ length: clients.count }, repeat))
  return served / all
}

async function untilServed(environment: Environment, origin: string): Promise<void> {
  while ((await read(environment, origin)) !== 200) await environment.delay(20)
}

async function read({ database }: Environment, origin: string): Promise<number> {
  const headers = { authorization: `Bearer ${database.key}` }
  const response = await fetch(`${origin}/v1/pets?limit=1`, { headers })
  await response.arrayBuffer()
  return response.status
}

function inPercent(share: number | undefined): string {
  return `${Math.round((share ?? 0) * 100)} %`
}
