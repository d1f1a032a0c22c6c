// The SQL tag that handlers and stores use. A pool, a held connection or a transaction sends its statements.

import type postgres from 'postgres'
import { UnstorableText } from '../unavailable.js'
import { writeJson } from './values.js'

/** Tells whether the caller of a statement has stopped waiting. An AbortSignal is one. */
export interface Signal {
  readonly aborted: boolean
  /** The statement timeout of the caller's transactions, if it has less time than others. */
  readonly statementTimeoutMs?: number | undefined
  /** The idle timeout of the caller's transactions, if the caller waits for a client within them. */
  readonly idleTimeoutMs?: number | undefined
  /** How long a statement may wait for a connection. Undefined if something else limits the caller's time. */
  readonly waitMs?: number | undefined
}

/** postgres.js with its own pool. It reads int8 as bigint. */
export type RootSql = postgres.Sql<{ bigint: bigint }>

/** The result of a statement: its rows, or a list of results if the text has several statements. */
export type Result = postgres.RowList<postgres.Row[]> | readonly postgres.RowList<postgres.Row[]>[]

/**
 * Runs a statement that requests use, without changing anything, to find out whether the database accepts it.
 */
export type Probe = (sql: Sql) => Promise<unknown>

/** postgres.js's tag for statements, with values converted by `valueTypes`. */
export type Sql = postgres.ISql<{ bigint: bigint }> & {
  /** The pool that sends the statements. Undefined if they belong to a held connection or a transaction. */
  readonly pool?: ConnectionSource
  /** With `pool`: no statement is sent once this is aborted. */
  readonly signal?: Signal | undefined
  /** The probes of the pool that sends the statements. */
  readonly probes?: Set<Probe>
  /**
   * Set for a request that shares a transaction with others: the transaction's tag. The request may run one
   * batched statement with it.
   */
  readonly only?: { readonly sql: Sql; isUsed: boolean }
  /**
   * Set if the tag belongs to a transaction that its user does not know of. Runs a part of it, all or
   * nothing.
   */
  part?<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>
  /** A JSON parameter of any type; postgres.js's own type excludes bigint. */
  json(value: NonNullable<unknown> | null): postgres.Parameter
}

/**
 * The options of `sql.unsafe(text, parameters, prepared)`, for a statement whose text is built once. A
 * template with fragments is built for each call, which costs more CPU than the rest of the statement.
 */
export const prepared = { prepare: true } as const

/** A pool: sends statements, and lends connections. */
export interface ConnectionSource {
  /** Returns a tag for a caller that waits until `signal` is aborted. Nothing is sent after that. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Run by the readiness probe. */
  readonly probes: Set<Probe>
  /** How long a pipelined statement may take, from when its caller asked. */
  readonly limitMs?: number | undefined
  /**
   * Calls `run` with a slot on one connection, and frees the slot when `run` settles. Statements on a
   * connection are pipelined. Rejects with STATEMENT_ABANDONED if `signal` is aborted before a slot is free.
   */
  hold<Result>(signal: Signal | undefined, run: (held: HeldConnection) => Promise<Result>): Promise<Result>
  /** Returns a tag whose statements `dispatch` sends. */
  sqlBy(dispatch: (statement: Statement) => void): Sql
  /** Sends a statement that another tag has made, as a tag of `sqlUntil` would. */
  dispatch(statement: Statement, signal: Signal | undefined): void
}

/** A slot of a connection. */
export interface HeldConnection {
  /** A tag for this connection and a caller that waits until its statements are done. */
  readonly sql: Sql
  /** Returns a tag for this connection. Nothing is sent once `signal` is aborted. */
  sqlUntil(signal: Signal | undefined): Sql
  /** Returns a tag for this connection whose statements `dispatch` sends. */
  sqlBy(dispatch: (statement: Statement) => void): Sql
  /** Sends a statement behind those in flight. */
  send(statement: Statement): void
  /** Closes the connection at once, whatever its state. */
  destroy(): void
}

/**
 * A statement: a promise that is sent when it is first awaited, on whichever connection is free then. A query
 * of postgres.js, in contrast, belongs to one of its pools from the start.
 */
export class Statement extends Promise<Result> {
  declare readonly resolve: (result: Result) => void
  declare readonly reject: (error: unknown) => void
  /** When its caller asked, by `performance.now()`. */
  askedAt: number | undefined
  /** The postgres.js method that changes the form of its rows, or allows several statements in the text. */
  form: 'values' | 'raw' | 'simple' | undefined
  #isExecuted = false

  /** @param args values, helpers, and statements that are parts of this one */
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

  // `then` returns a plain promise, which is no statement to send.
  static override readonly [Symbol.species] = Promise

  /** Sends the statement, unless it has been sent. */
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
    this.execute() // last, so that this caller hears of the result first
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

/** A helper of a tag for a part of a statement: a name, names, a row, or rows. */
export class Helper {
  constructor(
    readonly first: unknown,
    readonly rest: readonly unknown[],
  ) {}
}

// PostgreSQL refuses NUL, and would abort the transaction. For half of a surrogate pair, postgres.js would
// send U+FFFD.
function areStorable(values: readonly unknown[]): boolean {
  return values.every(isStorableValue)
}

// Looks into helpers, and into objects, which are rows or JSON.
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

// A request makes three tags or more from one template. They share what does not differ.
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
  // Text of type `unknown` (OID 705): for a JSON type, postgres.js would serialize the text again when it
  // repeats the statement (see `valueTypes`).
  const json = (value: unknown) => template.typed(value === null ? null : writeJson(value), 705)
  return Object.setPrototypeOf(
    {
      ...{ types, typed, array, json },
      // A getter binds `unsafe` to its tag, so it also works when taken off the tag.
      get unsafe() {
        const { [dispatcher]: dispatch } = this as unknown as Own
        return (...[text, args = [], options]: Parameters<Sql['unsafe']>) =>
          new Statement(dispatch, text, args, options)
      },
    },
    Function.prototype,
  )
}
