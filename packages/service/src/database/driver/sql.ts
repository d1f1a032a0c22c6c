// The SQL tag that handlers and stores use. A pool, a held connection or a transaction sends its statements.

import type postgres from 'postgres'
import { UnstorableText } from '../unavailable.js'
import { writeJson } from './values.js'

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

/** What a statement resolves with: if it is several, a list of theirs. */
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
  sqlBy(dispatch: (statement: Statement) => void): Sql
  /** Sends a statement that another tag has made, as one of `sqlUntil`. */
  dispatch(statement: Statement, signal: Signal | undefined): void
}

/** A slot on a connection. */
export interface HeldConnection {
  /** Statements on this connection, for whoever waits until they are done. */
  readonly sql: Sql
  /** Statements on this connection, none of which is sent once `signal` is aborted. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Statements on this connection, each sent by `dispatch`. */
  sqlBy(dispatch: (statement: Statement) => void): Sql
  /** Sends a statement behind those in flight. */
  send(statement: Statement): void
  /** Closes the connection at once, whatever its state. */
  destroy(): void
}

/**
 * A statement: a promise that is sent when it is first awaited, on a connection that is not known before.
 * postgres.js binds each of its own queries to one of its pools.
 */
export class Statement extends Promise<Result> {
  declare readonly resolve: (result: Result) => void
  declare readonly reject: (error: unknown) => void
  /** When its caller asked, by `performance.now()`. */
  askedAt: number | undefined
  /** How its rows are wanted, or that it may be several, if not as usual: postgres.js's methods. */
  form: 'values' | 'raw' | 'simple' | undefined
  #isExecuted = false

  /** @param args values, helpers, and statements that are a part of it */
  constructor(
    readonly dispatch: (statement: Statement) => void,
    readonly text: TemplateStringsArray | string,
    readonly args: readonly unknown[],
    readonly options?: postgres.UnsafeQueryOptions,
  ) {
    let settle = {}
    super((resolve, reject) => {
      settle = { resolve, reject }
    })
    Object.assign(this, settle)
  }

  // What `then` returns is sent by nobody.
  static override readonly [Symbol.species] = Promise

  /** Sends it, if nobody has. */
  execute(): this {
    if (this.#isExecuted) return this
    this.#isExecuted = true
    if (areStorable(this.args)) this.dispatch(this)
    else this.reject(new UnstorableText())
    return this
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` calls it
  override then<Fulfilled = Result, Rejected = never>(
    onfulfilled?: ((result: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onrejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    const settled = super.then(onfulfilled, onrejected)
    this.execute() // who asked is told first
    return settled
  }

  values(): this {
    return this.#as('values')
  }

  raw(): this {
    return this.#as('raw')
  }

  simple(): this {
    return this.#as('simple')
  }

  #as(form: Statement['form']): this {
    this.form = form
    return this
  }
}

/** What a tag builds for a part of a statement: a name, names, a row, or several. */
export class Helper {
  constructor(
    readonly first: unknown,
    readonly rest: readonly unknown[],
  ) {}
}

// PostgreSQL refuses NUL, which would abort a transaction; for half of a surrogate pair postgres.js sends
// U+FFFD.
function areStorable(values: readonly unknown[]): boolean {
  return values.every(isStorableValue)
}

// A helper has what it was given, an object the fields of a row or of JSON.
function isStorableValue(value: unknown): boolean {
  if (typeof value === 'string') return (value as Checkable).isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true
  return areStorable(value instanceof Statement ? value.args : Object.values(value))
}

// Of ES2024, which Node 20 has and the types do not.
type Checkable = string & { isWellFormed(): boolean }

/** Creates a tag whose statements `dispatch` sends. `template` only makes parameters, and never connects. */
export function createSql(
  template: RootSql,
  dispatch: (statement: Statement) => void,
  source?: Pick<Sql, 'pool' | 'signal' | 'probes'>,
): Sql {
  const tag = (first: unknown, ...args: unknown[]) =>
    isTemplate(first) ? new Statement(dispatch, first, args) : new Helper(first, args)
  const given: Own = Object.setPrototypeOf(tag, sharedOf(template))
  given[dispatcher] = dispatch
  given.pool = source?.pool
  given.signal = source?.signal
  given.probes = source?.probes
  // Cast, because `file` and `notify` are left out: they would send on the template.
  return given as unknown as Sql
}

function isTemplate(first: unknown): first is TemplateStringsArray {
  return Array.isArray(first) && 'raw' in first
}

const dispatcher = Symbol('dispatch')

interface Own {
  [dispatcher]: (statement: Statement) => void
  pool: ConnectionSource | undefined
  signal: Signal | undefined
  probes: Set<Probe> | undefined
}

// A request has three tags and more, of the same template: what they have in common is made once.
const shared = new WeakMap<RootSql, object>()

function sharedOf(template: RootSql): object {
  const known = shared.get(template)
  if (known !== undefined) return known
  const made = makeShared(template)
  shared.set(template, made)
  return made
}

function makeShared(template: RootSql): object {
  const { types, typed, array } = template
  // As text of type `unknown`: a JSON type would serialize the text again if postgres.js repeats the
  // statement (see `valueTypes`).
  const json = (value: unknown) => template.typed(value === null ? null : writeJson(value), 705)
  return Object.setPrototypeOf(
    {
      ...{ types, typed, array, json },
      // Bound to its tag, as all methods are: whoever takes it off the tag would send nothing.
      get unsafe() {
        const { [dispatcher]: dispatch } = this as unknown as Own
        return (...[text, args = [], options]: Parameters<Sql['unsafe']>) =>
          new Statement(dispatch, text, args, options)
      },
    },
    Function.prototype,
  )
}
