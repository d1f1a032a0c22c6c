// Readiness: whether the database serves this instance, and if not, for which of a few causes.

import type { Sql } from '../database/database.js'
import { isMigrated } from '../database/migrate.js'
import { codedError, codeOf, isConnectionLost } from '../database/unavailable.js'
import { unlessAborted } from '../lib/abort.js'
import { singleFlight } from '../lib/shared-calls.js'

export interface ReadinessParts {
  readonly sql: Sql
  /** Rejects if the connections that serve requests do not respond in time. */
  readonly probe: (timeoutMs: number) => Promise<unknown>
  readonly isClosing: () => boolean
}

/** Why an instance is not ready. */
export interface Unready {
  /** One of docs/operating.md, "Troubleshooting". */
  readonly cause: string
  /** Undefined if the instance is closing, which is no failure. */
  readonly error: Error | undefined
}

/** Determines why the instance is not ready; undefined if it is. */
export type FindUnready = () => Promise<Unready | undefined>

const probeTimeoutMs = 1_000

// By error code; the first that matches.
const causes: readonly (readonly [cause: string, codes: RegExp])[] = [
  ['stalled', /^CONNECTION_STALLED$/],
  ['no_answer', /^(57014|TIMEOUT)$/], // statement_timeout
  ['login', /^28...$/],
  ['connections', /^53300$/],
  ['privileges', /^42501$/],
  ['schema', /^(42P01|42703|42883|3F000|MIGRATIONS_MISSING)$/], // no such table, column, function, schema
  ['standby', /^25006$/],
]

/** Creates the check of an instance: one at a time, however many ask. */
export function createReadiness(
  { sql, probe, isClosing }: ReadinessParts,
  migrations: readonly string[],
): FindUnready {
  const check = async () => {
    const [areMigrated] = await Promise.all([
      unlessAborted(isMigrated(sql, migrations), AbortSignal.timeout(probeTimeoutMs)),
      probe(probeTimeoutMs),
    ])
    if (!areMigrated) throw codedError('MIGRATIONS_MISSING', 'migrations are missing')
  }
  return singleFlight(async () => {
    try {
      await check()
    } catch (reason) {
      const error = isTimeout(reason) ? codedError('TIMEOUT', `no answer in ${probeTimeoutMs} ms`) : reason
      return { cause: causeOf(error), error: error as Error }
    }
    return isClosing() ? { cause: 'closing', error: undefined } : undefined
  })
}

function causeOf(error: unknown): string {
  const code = codeOf(error)
  const known = causes.find(([, codes]) => codes.test(code))
  return known?.[0] ?? (isConnectionLost(error) ? 'unreachable' : 'other')
}

// The error of AbortSignal.timeout, whose message does not say what timed out.
function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'TimeoutError'
}
