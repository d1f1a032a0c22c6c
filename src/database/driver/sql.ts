// The tag of SQL statements, whose rows come by whatever sends them: a pool, one connection, a transaction.

import type postgres from 'postgres'
import type { Handle, Query } from './connection.js'

/** Whether the caller of a statement has stopped waiting; an AbortSignal is one. */
export interface Signal {
  readonly aborted: boolean
}

/** Of several callers: aborted once none of them waits any more. */
export function whileAnyWaits(signals: readonly (Signal | undefined)[]): Signal {
  return {
    get aborted() {
      return signals.every((signal) => signal?.aborted)
    },
  }
}

/** postgres.js's tag for statements, with values as `valueTypes` has them. */
export type Sql = postgres.ISql<{ bigint: bigint }> & {
  /** The pool that sends its statements, and until when. Absent where they belong to one connection. */
  readonly of?: { readonly pool: Holding; readonly signal: Signal | undefined }
  /**
   * Of requests that share a transaction: its tag, for the one statement that serves them all. Throws the second time, as any other
   * statement does.
   */
  share?(): Sql
  /** A parameter of JSON, whatever its type; postgres.js's own leaves bigint out. */
  json(value: NonNullable<unknown> | null): postgres.Parameter
}

/** What gives out its connections, or places on them. */
export interface Holding {
  /**
   * Calls `run` with a place on one connection, which is given back when it settles: its statements are pipelined there.
   * Rejects with STATEMENT_ABANDONED where `signal` is aborted before there is a place.
   */
  hold<Result>(signal: Signal | undefined, run: (held: HeldConnection) => Promise<Result>): Promise<Result>
}

/** A place on a connection, for as long as it is held. */
export interface HeldConnection {
  /** Statements on this connection alone, none of which is sent once `signal` is aborted. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Gives the connection up, whatever state it is in. */
  drop(): void
}

/** Makes a tag whose statements `dispatch` sends. What `template` connects to does not matter: it makes the queries alone. */
export function createSql(template: Handle, dispatch: (query: Query) => void, of?: Sql['of']): Sql {
  const dispatched = <Made>(made: Made): Made => {
    if (isQuery(made)) made.handler = dispatch
    return made
  }
  // postgres.js says of a list of bigint that it is one; what is wanted, PostgreSQL knows.
  const untyped = (arg: unknown) =>
    Array.isArray(arg) && typeof arg[0] === 'bigint' ? template.typed(arg, 0) : arg
  const tag = (first: unknown, ...args: unknown[]) =>
    dispatched(Reflect.apply(template, undefined, [first, ...args.map(untyped)]))
  const unsafe: Sql['unsafe'] = (...args) => dispatched(template.unsafe(...args))
  const { types, typed, array, json } = template
  // postgres.js's `file` and `notify` are left out, for they send by themselves.
  return Object.assign(tag, { types, typed, array, json, unsafe, of }) as unknown as Sql
}

// The tag makes helpers, too, such as a list of columns.
function isQuery(made: unknown): made is Query {
  return made instanceof Promise && 'handler' in made
}
