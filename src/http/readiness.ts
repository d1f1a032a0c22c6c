// Readiness: what is wrong with an instance, for which of a few causes, and whether a load balancer should
// send requests elsewhere: for what another instance may do better, and not for a fault of the database that
// all instances share while it serves reads, since all would be taken out at once.

import type { Pools } from '../database/database.js'
import type { Pool } from '../database/driver/pool.js'
import { isMigrated } from '../database/migrate.js'
import { codedError, codeOf, isConnectionLost, isReadOnly } from '../database/unavailable.js'
import { unlessAborted } from '../lib/abort.js'
import { singleFlight } from '../lib/shared-calls.js'

export interface ReadinessParts {
  readonly pools: Readonly<Record<keyof Pools, Pick<Pool, 'probe' | 'sql'>>>
  readonly isClosing: () => boolean
}

/** What is wrong with an instance. */
export interface Fault {
  /** One of docs/operating.md, "Causes". */
  readonly cause: string
  /** Undefined if the instance is closing, which is no failure. */
  readonly error: Error | undefined
  /** Whether the instance is ready all the same: degraded. */
  readonly isReady: boolean
}

/** Determines what is wrong with the instance; undefined if nothing is. */
export type FindFault = () => Promise<Fault | undefined>

const probeTimeoutMs = 1_000

// By error code; the first that matches.
const causes: readonly (readonly [cause: string, codes: RegExp])[] = [
  ['stalled', /^CONNECTION_STALLED$/],
  ['no_answer', /^(57014|TIMEOUT)$/], // statement_timeout
  ['login', /^28...$/],
  ['connections', /^53300$/],
  ['privileges', /^42501$/],
  ['schema', /^(42P01|42703|42883|3F000|MIGRATIONS_MISSING)$/], // no such table, column, function, schema
  ['standby', /^25006$/], // of a connection
]

/** Creates the check of an instance: one at a time, however many ask. */
export function createReadiness(
  { pools: { keys, reads, writes }, isClosing }: ReadinessParts,
  migrations: readonly string[],
): FindFault {
  let hasStarted = false
  // Until it was ready once, an instance may be of another release than those that serve, or have another
  // role. Later this is the fault of all.
  const mayBeOwn = (cause: string) => !hasStarted && ['schema', 'privileges'].includes(cause)
  const check = async (probe: Promise<Error | undefined>, isFatal: (cause: string) => boolean) => {
    try {
      const refused = await probe
      return refused && faultOf(refused, mayBeOwn)
    } catch (error) {
      return faultOf(error, isFatal)
    }
  }
  const checkAll = () =>
    Promise.all([
      check(keys.probe(probeTimeoutMs), () => true),
      check(reads.probe(probeTimeoutMs), () => true),
      check(writes.probe(probeTimeoutMs), mayBeOwn),
      check(probeMigrations(keys.sql, migrations), () => !hasStarted),
    ])
  return singleFlight(async () => {
    const faults = (await checkAll()).filter((each) => each !== undefined)
    const unready = faults.find(({ isReady }) => !isReady)
    if (unready !== undefined) return unready
    hasStarted = true
    return isClosing() ? { cause: 'closing', error: undefined, isReady: false } : faults[0]
  })
}

async function probeMigrations(sql: Pool['sql'], names: readonly string[]): Promise<undefined> {
  const areApplied = await unlessAborted(isMigrated(sql, names), AbortSignal.timeout(probeTimeoutMs))
  if (!areApplied) throw codedError('MIGRATIONS_MISSING', 'migrations are missing')
}

function faultOf(reason: unknown, isFatal: (cause: string) => boolean): Fault {
  const error = isTimeout(reason) ? codedError('TIMEOUT', `no answer in ${probeTimeoutMs} ms`) : reason
  const cause = causeOf(error)
  return { cause, error: error as Error, isReady: !isFatal(cause) }
}

function causeOf(error: unknown): string {
  if (isReadOnly(error)) return 'read_only'
  const code = codeOf(error)
  const known = causes.find(([, codes]) => codes.test(code))
  return known?.[0] ?? (isConnectionLost(error) ? 'unreachable' : 'other')
}

// The error of AbortSignal.timeout, whose message does not say what timed out.
function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'TimeoutError'
}
