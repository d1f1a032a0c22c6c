// A handle of postgres.js that is made anew whenever one of its connections closes, for postgres.js 3.4.9 does not get over
// every such end by itself. What it was about to write on a connection that closes stays in its buffer, marked as on its way:
// after the next connect nothing is sent, and the connection is lost for many seconds. And a transaction whose
// connection is gone still writes its rollback, to a socket that is null, which nobody can catch (porsager/postgres issues 1154
// and 1208).

import type postgres from 'postgres'
import type { RootSql, Sql } from './connect.js'
import { createSocket, type Target } from './socket.js'

/** What a handle has to be made with, beside all else. */
export interface Renewal {
  readonly onclose: () => void
  /** For postgres.js's options, whose types leave it out. */
  readonly socket: (target: Target) => unknown
}

/** The connections since the last that closed. */
interface Generation {
  readonly handle: RootSql
  isLost: boolean
}

export interface RenewableHandle {
  /** Always the newest handle. */
  readonly sql: RootSql
  readonly transact: Transact
}

/** Runs work in a transaction; rejects when its connection is lost, whatever the work makes of that. */
export type Transact = <Result>(work: (sql: TransactionSql) => Promise<Result>) => Promise<Result>

/** In a transaction: a part of it can be undone. */
export type TransactionSql = Sql & {
  savepoint<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
}

// For what is under way on the other connections of the handle. What was not sent yet is not sent any more, and its callers are
// told only at this end: where one connection could not be made, all who wait for the handle wait so long.
const endTimeoutSeconds = 0.25
// So that a server that is away, or only coming up, is not asked without end.
const pauseMs = 100

/** Makes a renewable handle of the handles that `make` gives. */
export function renewable(make: (renewal: Renewal) => RootSql): RenewableHandle {
  let isEnding = false
  let notBefore = 0
  let listening: RootSql | undefined
  const socket = async (target: Target) => {
    const waitMs = notBefore - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    return createSocket(target)
  }
  const open = (): Generation => {
    const generation: Generation = {
      handle: make({ onclose: () => renew(generation), socket }),
      isLost: false,
    }
    return generation
  }
  const renew = (generation: Generation) => {
    if (generation.isLost || isEnding) return
    generation.isLost = true
    notBefore = performance.now() + pauseMs
    current = open()
    void generation.handle.end({ timeout: endTimeoutSeconds })
  }
  let current = open()
  // LISTEN has a connection of its own, which postgres.js looks after.
  const listener = () => {
    listening ??= make({ onclose: () => {}, socket })
    return listening
  }
  const end: RootSql['end'] = async (options) => {
    isEnding = true
    await Promise.all([current.handle.end(options), listening?.end(options)])
  }
  const sql = new Proxy(current.handle, {
    apply: (_target, _this, args) => Reflect.apply(current.handle, undefined, args),
    get: (_target, name) => {
      if (name === 'end') return end
      return Reflect.get(name === 'listen' ? listener() : current.handle, name)
    },
  })
  return { sql, transact: (work) => transactIn(current, work) }
}

function transactIn<Result>(
  generation: Generation,
  work: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  // postgres.js types a transaction's result as if it were a list of queries.
  return generation.handle.begin((transaction) =>
    unlessLost(generation, work(guarded(transaction, generation))),
  ) as Promise<Result>
}

// Of a lost connection postgres.js itself tells whoever waits for the transaction. What would end here by then must not:
// it would write a rollback.
function unlessLost<Result>(generation: Generation, result: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    result.then(
      (value) => {
        if (!generation.isLost) resolve(value)
      },
      (error) => {
        if (!generation.isLost) reject(error)
      },
    )
  })
}

function guarded(
  transaction: postgres.TransactionSql<{ bigint: bigint }>,
  generation: Generation,
): TransactionSql {
  const live = <Value>(value: Value): Value => {
    if (generation.isLost) throw connectionLost()
    return value
  }
  const tag = (...args: unknown[]) => Reflect.apply(live(transaction), undefined, args)
  const unsafe: Sql['unsafe'] = (...args) => live(transaction).unsafe(...args)
  const savepoint: TransactionSql['savepoint'] = (work) =>
    live(transaction).savepoint((sql) =>
      unlessLost(generation, work(guarded(sql, generation))),
    ) as ReturnType<typeof work>
  return Object.assign(tag, transaction, { unsafe, savepoint }) as unknown as TransactionSql
}

function connectionLost(): Error {
  return Object.assign(new Error('the connection of the transaction is lost'), { code: 'CONNECTION_CLOSED' })
}
