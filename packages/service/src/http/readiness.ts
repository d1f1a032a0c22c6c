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
  /** Returns why the last trial connection to the database failed, if it did. */
  readonly connectError: () => Error | undefined
  /** The time limit of a request's statements. */
  readonly timeoutMs: number
}

/** A fault of an instance. */
export interface Fault {
  /** One of docs/operating.md, "Causes". */
  readonly cause: string
  /** Undefined if the instance is closing, which is no failure. */
  readonly error: Error | undefined
  /** True if the instance is ready in spite of the fault: degraded. */
  readonly isReady: boolean
}

/** Finds the fault of the instance. Resolves with undefined if there is none. */
export type FindFault = () => Promise<Fault | undefined>

// A database that takes longer counts as slow. Probes wait no longer either: load balancers have little
// patience.
const patienceMs = 1_000

// Causes by error code. The first match counts.
const causes: readonly (readonly [cause: string, codes: RegExp])[] = [
  ['stalled', /^CONNECTION_STALLED$/],
  ['no_answer', /^(57014|TIMEOUT)$/], // statement_timeout
  ['slow', /^SLOW$/],
  ['login', /^28...$/],
  ['connections', /^53300$/],
  ['privileges', /^42501$/],
  ['schema', /^(42P01|42703|42883|3F000|MIGRATIONS_MISSING)$/], // no such table, column, function, schema
  ['standby', /^25006$/], // the error of a connection; for one of a statement, see `isReadOnly`
]

/**
 * Creates the check of an instance. One check runs at a time, however many ask. Its statements have the time
 * limit of requests, because whatever they complete in, requests complete in, too. While a check takes longer
 * than a caller waits, the caller gets the last result: an instance that was not ready stays so, and one that
 * was ready is slow.
 */
export function createReadiness(
  { pools: { keys, reads, writes }, isClosing, connectError, timeoutMs }: ReadinessParts,
  migrations: readonly string[],
): FindFault {
  let hasStarted = false
  // Until it was ready once, an instance may have another release or another role than those that serve.
  // Later, such a fault concerns all instances.
  const mayBeOwn = (cause: string) => !hasStarted && ['schema', 'privileges'].includes(cause)
  const check = async (probe: Promise<Error | undefined>, isFatal: (cause: string) => boolean) => {
    const startedAt = performance.now()
    try {
      const refused = (await probe) ?? slowness(performance.now() - startedAt)
      return refused && faultOf(refused, mayBeOwn)
    } catch (error) {
      return faultOf(isTimeout(error) ? noAnswer(timeoutMs) : error, isFatal)
    }
  }
  const checkAll = () =>
    Promise.all([
      check(keys.probe(timeoutMs), () => true),
      check(reads.probe(timeoutMs), () => true),
      check(writes.probe(timeoutMs), mayBeOwn),
      check(probeMigrations(keys.sql, migrations, timeoutMs), () => !hasStarted),
    ])
  let found: Fault | undefined = faultOf(noAnswer(patienceMs), () => true)
  const checkOnce = singleFlight(async () => {
    const faults = [...(await checkAll()), newConnectionFault(connectError())].filter(
      (each) => each !== undefined,
    )
    found =
      faults.find(({ isReady }) => !isReady) ?? faults.find(({ cause }) => cause !== 'slow') ?? faults[0]
    hasStarted ||= found?.isReady !== false
    return found
  })
  const slow = faultOf(slowness(patienceMs) as Error, () => false)
  return singleFlight(async () => {
    const ended = await untilImpatient(checkOnce())
    const fault = ended === undefined ? (found ?? slow) : ended.fault
    if (fault?.isReady === false || !isClosing()) return fault
    return { cause: 'closing', error: undefined, isReady: false }
  })
}

// The instance stays ready: its open connections may go on serving.
function newConnectionFault(error: Error | undefined): Fault | undefined {
  return error && { cause: 'new_connection', error, isReady: true }
}

// Resolves with the result of the check, or with undefined once patience is over.
function untilImpatient(
  check: Promise<Fault | undefined>,
): Promise<{ fault: Fault | undefined } | undefined> {
  return unlessAborted(check, AbortSignal.timeout(patienceMs)).then(
    (fault) => ({ fault }),
    () => undefined,
  )
}

async function probeMigrations(sql: Pool['sql'], names: readonly string[], ms: number): Promise<undefined> {
  const areApplied = await unlessAborted(isMigrated(sql, names), AbortSignal.timeout(ms))
  if (!areApplied) throw codedError('MIGRATIONS_MISSING', 'migrations are missing')
}

function noAnswer(ms: number): Error {
  return codedError('TIMEOUT', `no answer in ${ms} ms`)
}

function slowness(ms: number): Error | undefined {
  return ms < patienceMs ? undefined : codedError('SLOW', `the database took ${Math.round(ms)} ms to answer`)
}

function faultOf(error: unknown, isFatal: (cause: string) => boolean): Fault {
  const cause = causeOf(error)
  return { cause, error: error as Error, isReady: !isFatal(cause) }
}

function causeOf(error: unknown): string {
  if (isReadOnly(error)) return 'read_only'
  const code = codeOf(error)
  const known = causes.find(([, codes]) => codes.test(code))
  return known?.[0] ?? (isConnectionLost(error) ? 'unreachable' : 'other')
}

// True for the error of AbortSignal.timeout, whose message does not say what timed out.
function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'TimeoutError'
}
