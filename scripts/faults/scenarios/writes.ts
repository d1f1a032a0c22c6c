// Writes that fail for all instances, behind HAProxy: it must not take them out, since they serve reads.

import { prepareServiceRole } from 'contract-service/internal/database/roles'
import { behindHaproxy } from '../behind-haproxy.js'
import { type Bounds, type Environment, type Outcome, type Report, unless } from '../environment.js'
import type { Ledger } from '../ledger.js'
import { type Replication, urlOf } from '../replication.js'
import { readAndCreated, shortTime, timed, unresponsiveMs, within } from './parts.js'
import { withReplication } from './replication.js'

const role = 'animal_store_service'

interface Fault {
  /** What `animal_store_ready` names. */
  readonly cause: string
  begin(replication: Replication): Promise<unknown>
  end(replication: Replication): Promise<unknown>
}

const faults: readonly Fault[] = [
  {
    cause: 'privileges',
    begin: ({ primary }) => primary.sql`revoke insert on pets from ${primary.sql(role)}`,
    end: ({ primary }) => primary.sql`grant insert on pets to ${primary.sql(role)}`,
  },
  {
    cause: 'stalled',
    begin: ({ standby }) => standby.freeze(),
    end: async ({ standby }) => standby.thaw(),
  },
]

/**
 * Revokes the role's insert, and later freezes the only synchronous standby, each until it is reported and
 * for so long. Through HAProxy all reads must succeed, creates get 503, and each instance must report the
 * cause and that it is ready.
 */
export function loseWrites(environment: Environment, forMs: number): Promise<Report> {
  const title = `insert revoked, and the only synchronous standby frozen, ${forMs} ms each, behind HAProxy`
  return withReplication(environment, true, async (replication, key) => {
    const { sql } = replication.primary
    await prepareServiceRole(sql, { name: role, password: 'x' }, Number(shortTime.HANDLER_TIMEOUT_MS))
    const url = urlOf(replication.primary).replace('//postgres@', `//${role}@`)
    const own = environment.on({ key, sql, env: { DATABASE_URL: url } })
    // Out after three checks: before the fault ends.
    return behindHaproxy(own, shortTime, Math.min(2_000, forMs / 5), (origin, instances) =>
      own.run(title, origin, async (load, ledger) => {
        const metrics = instances.map((each) => each.metrics)
        const callers = new Callers(own, origin)
        const play = { own, replication, metrics, callers, ledger, forMs }
        const effects: Effect[] = []
        for (const fault of faults) effects.push(await playOne(fault, play))
        await load.stop()
        return outcomeOf(callers, effects, own.bounds)
      }),
    )
  })
}

interface Play {
  readonly own: Environment
  readonly replication: Replication
  readonly metrics: readonly string[]
  readonly callers: Callers
  readonly ledger: Ledger
  readonly forMs: number
}

interface Effect {
  readonly reportedMs: number
  readonly servedMs: number
  readonly violations: readonly string[]
}

async function playOne({ cause, begin, end }: Fault, play: Play): Promise<Effect> {
  const { own, replication, metrics, callers, ledger, forMs } = play
  await readAndCreated(own, ledger)
  // Of both: an instance that was never ready takes some faults for its own.
  await untilReported(own, metrics, 'none', own.bounds.recoveryMs)
  await begin(replication)
  const reported = untilReported(own, metrics, cause, unresponsiveMs + own.bounds.slackMs)
  await callers.callUntil(reported.then(() => own.delay(forMs)))
  const reportedMs = await reported
  const during = await notReported(metrics, cause)
  await end(replication)
  const servedMs = await readAndCreated(own, ledger)
  await untilReported(own, metrics, 'none', own.bounds.recoveryMs)
  return { reportedMs, servedMs, violations: [...during, ...(await notReported(metrics, 'none'))] }
}

function outcomeOf(
  { reads, failedReads, creates }: Callers,
  effects: readonly Effect[],
  { recoveryMs, slackMs }: Bounds,
): Outcome {
  const all = reads + failedReads
  const created = [...creates].map(([status, count]) => `${status}: ${count}`).join(', ')
  const reportedMs = Math.max(...effects.map((each) => each.reportedMs))
  const servedMs = Math.max(...effects.map((each) => each.servedMs))
  return {
    figures: [
      `${reads} of ${all} reads served, creates got ${created}`,
      `reported within ${reportedMs} ms by both; reads and creates served again within ${servedMs} ms`,
    ],
    violations: [
      ...effects.flatMap(({ violations }) => violations),
      ...unless(reads > 0 && failedReads === 0, `${failedReads} of ${all} reads failed`),
      ...unless([...creates.keys()].join() === '503', `creates got ${created}`),
      ...within(unresponsiveMs + slackMs, reportedMs, 'to report the cause'),
      ...within(recoveryMs, servedMs, 'to serve again'),
    ],
  }
}

// Callers that read and create with the pauses of the load, and count each status.
class Callers {
  reads = 0
  failedReads = 0
  readonly creates = new Map<number, number>()

  constructor(
    readonly environment: Environment,
    readonly origin: string,
  ) {}

  async callUntil(end: Promise<void>): Promise<void> {
    let isOn = true
    const ended = end.finally(() => {
      isOn = false
    })
    const { clients } = this.environment
    const repeat = async (call: () => Promise<void>) => {
      while (isOn) {
        await call()
        if (clients.pauseMs > 0) await this.environment.delay(clients.pauseMs)
      }
    }
    const readers = Array.from({ length: 4 }, () => repeat(() => this.#read()))
    const writers = Array.from({ length: 4 }, () => repeat(() => this.#create()))
    await Promise.all([ended, ...readers, ...writers])
  }

  async #read(): Promise<void> {
    if ((await this.#send('GET', '?limit=1')) === 200) this.reads++
    else this.failedReads++
  }

  async #create(): Promise<void> {
    const status = await this.#send('POST', '', '{"name":"of a caller","categoryId":1}')
    this.creates.set(status, (this.creates.get(status) ?? 0) + 1)
  }

  async #send(method: string, query: string, body?: string): Promise<number> {
    const headers = {
      authorization: `Bearer ${this.environment.database.key}`,
      'content-type': 'application/json',
    }
    const request = { method, headers, ...(body !== undefined && { body }) }
    const response = await fetch(`${this.origin}/v1/pets${query}`, request)
    await response.arrayBuffer()
    return response.status
  }
}

/** Resolves when each instance reports this cause, or after `atMostMs`, with the milliseconds until then. */
function untilReported(
  environment: Environment,
  metrics: readonly string[],
  cause: string,
  atMostMs: number,
): Promise<number> {
  const deadline = performance.now() + atMostMs
  return timed(async () => {
    while ((await notReported(metrics, cause)).length > 0 && performance.now() < deadline)
      await environment.delay(20)
  })
}

async function notReported(metrics: readonly string[], cause: string): Promise<string[]> {
  const texts = await Promise.all(metrics.map(async (url) => (await fetch(url)).text()))
  const lines = texts.flatMap((text) => text.match(/^animal_store_ready\{.*$/gm) ?? [])
  const expected = `animal_store_ready{cause="${cause}"} 1`
  return unless(lines.length > 0 && lines.every((line) => line === expected), `reported ${lines.join('; ')}`)
}
