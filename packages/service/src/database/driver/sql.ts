// The SQL tag that handlers and stores use. A pool, a held connection or a transaction sends its statements.

import type postgres from 'postgres'
import { UnstorableText } from '../unavailable.js'
import { isStorable, writeJson } from './values.js'

/** Whether the caller of a statement has stopped waiting. An AbortSignal is one. */
export interface Signal {
  readonly aborted: boolean
  /** Of the caller's statements in a transaction, if it has less time than others. */
  readonly statementTimeoutMs?: number | undefined
  /** How long the caller's transactions may wait for it, if it waits for a client within them. */
  readonly idleTimeoutMs?: number | undefined
  /** How long a statement may wait for a connection. Undefined for a caller whose time is limited anyway. */
  readonly waitMs?: number | undefined
}

/** postgres.js with its own pool. It reads int8 as bigint. */
export type RootSql = postgres.Sql<{ bigint: bigint }>

/** A postgres.js query. It is lazy: `handler` sends it when it is first awaited. */
export interface Query extends postgres.PendingQuery<postgres.Row[]> {
  handler: (query: Query) => unknown
  /** What its text has parameters for: values, helpers, and statements that are a part of it. */
  readonly args?: readonly unknown[]
  /** Sends a cancel request for an active query, over a connection of its own. */
  readonly canceller: (query: Pick<Query, 'active' | 'state'>) => Promise<void>
  readonly active: boolean
  /** When its caller asked, by `performance.now()`. */
  askedAt?: number
  /** The backend's pid and the secret of its cancel requests. */
  readonly state: { readonly pid: number; readonly secret: number }
  /** Takes each row as it arrives, with the result that it belongs to. */
  forEachFn?: (row: postgres.Row, result: postgres.Row[]) => void
  resolve(result: Result): void
  reject(error: unknown): void
}

/** What a query resolves with: of several statements, a list of theirs. */
export type Result = postgres.RowList<postgres.Row[]> | readonly postgres.RowList<postgres.Row[]>[]

/** Runs a statement of requests so that it changes nothing, to find out whether the database accepts it. */
export type Probe = (sql: Sql) => Promise<unknown>

/** postgres.js's tag for statements, with values converted by `valueTypes`. */
export type Sql = postgres.ISql<{ bigint: bigint }> & {
  /** The pool that sends the statements. Undefined if they belong to a held connection or a transaction. */
  readonly pool?: ConnectionSource
  /** With `pool`: no statement is sent once this is aborted. */
  readonly signal?: Signal | undefined
  /** Those of the pool that the statements' connection is of. */
  readonly probes?: Set<Probe>
  /**
   * Set for a request that shares a transaction with others: the transaction's tag, for the only batched
   * statement that it may run.
   */
  readonly only?: { readonly sql: Sql; isUsed: boolean }
  /** Set within a transaction that the user of this tag does not know of: runs a part of it, or nothing. */
  part?<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>
  /** A JSON parameter of any type; postgres.js's own type excludes bigint. */
  json(value: NonNullable<unknown> | null): postgres.Parameter
}

/**
 * For `sql.unsafe(text, parameters, prepared)`: a statement whose text is made once. A template with
 * fragments makes it each time, which takes the process longer than all else that a statement does.
 */
export const prepared = { prepare: true } as const

/** Lends its connections. */
export interface ConnectionSource {
  /** Statements for a caller that waits until `signal` is aborted: none is sent after that. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Run by the readiness probe. */
  readonly probes: Set<Probe>
  /** How long a statement may take from when it was asked for, where statements are pipelined. */
  readonly limitMs?: number | undefined
  /**
   * Calls `run` with a slot on one connection, and frees the slot when `run` settles. Statements on a
   * connection are pipelined. Rejects with STATEMENT_ABANDONED if `signal` is aborted before a slot is free.
   */
  hold<Result>(signal: Signal | undefined, run: (held: HeldConnection) => Promise<Result>): Promise<Result>
  /** Statements that `dispatch` sends. */
  sqlBy(dispatch: (query: Query) => void): Sql
  /** Sends a statement that another tag has made, as one of `sqlUntil`. */
  dispatch(query: Query, signal: Signal | undefined): void
}

/** A slot on a connection. */
export interface HeldConnection {
  /** Statements on this connection, none of which is sent once `signal` is aborted. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Statements on this connection, each sent by `dispatch`. */
  sqlBy(dispatch: (query: Query) => void): Sql
  /** Sends a statement behind those in flight. */
  send(query: Query): void
  /** Closes the connection at once, whatever its state. */
  destroy(): void
}

/** Creates a tag whose statements `dispatch` sends. `template` only builds the queries and never connects. */
export function createSql(
  template: RootSql,
  dispatch: (query: Query) => void,
  source?: Pick<Sql, 'pool' | 'signal' | 'probes'>,
): Sql {
  const shared = sharedOf(template)
  const { untyped } = shared
  const tag = (first: unknown, ...args: unknown[]) =>
    dispatchedBy(dispatch, Reflect.apply(template, undefined, [first, ...args.map(untyped)]))
  const given: Own = Object.setPrototypeOf(tag, shared)
  given[dispatcher] = dispatch
  given.pool = source?.pool
  given.signal = source?.signal
  given.probes = source?.probes
  // Cast, because `file` and `notify` are left out: they would send on the template.
  return given as unknown as Sql
}

const dispatcher = Symbol('dispatch')

interface Own {
  [dispatcher]: (query: Query) => void
  pool: ConnectionSource | undefined
  signal: Signal | undefined
  probes: Set<Probe> | undefined
}

// A request has three tags and more, of the same template: what they have in common is made once.
const shared = new WeakMap<RootSql, ReturnType<typeof makeShared>>()

function sharedOf(template: RootSql): ReturnType<typeof makeShared> {
  const known = shared.get(template)
  if (known !== undefined) return known
  const made = makeShared(template)
  shared.set(template, made)
  return made
}

function makeShared(template: RootSql) {
  const { types, typed, array } = template
  // postgres.js infers int8 for an array of bigint. With type 0, PostgreSQL infers the array type.
  const untyped = (arg: unknown) =>
    Array.isArray(arg) && typeof arg[0] === 'bigint' ? template.typed(arg, 0) : arg
  // As text of type `unknown`: a JSON type would serialize the text again if postgres.js repeats the
  // statement (see `valueTypes`).
  const json = (value: unknown) => template.typed(value === null ? null : writeJson(value), 705)
  return Object.setPrototypeOf(
    {
      ...{ types, typed, array, json, untyped },
      // Bound to its tag, as all methods are: whoever takes it off the tag would send nothing.
      get unsafe() {
        const { [dispatcher]: dispatch } = this as unknown as Own
        return (...args: Parameters<Sql['unsafe']>) => dispatchedBy(dispatch, template.unsafe(...args))
      },
    },
    Function.prototype,
  ) as typeof template & { readonly untyped: typeof untyped }
}

function dispatchedBy<Made>(dispatch: (query: Query) => void, made: Made): Made {
  if (isQuery(made)) made.handler = areStorable(made.args) ? dispatch : refuse
  return made
}

// PostgreSQL refuses NUL, which would abort a transaction; for half of a surrogate pair postgres.js sends U+FFFD.
function refuse(query: Query): void {
  query.reject(new UnstorableText())
}

// A helper has what it was given, an object the fields of a row or of JSON.
function isStorableValue(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true
  return areStorable(isQuery(value) ? value.args : Object.values(value))
}

function areStorable(values: readonly unknown[] = []): boolean {
  return values.every(isStorableValue)
}

// The tag also builds helpers, such as a list of columns.
function isQuery(made: unknown): made is Query {
  return made instanceof Promise && 'handler' in made
}
