// Several connections used in turn, each by a handle of its own, for short statements. postgres.js 3.4.9 grows slower while
// a pool of two or more is saturated (its Queue.remove scans what was shifted away; porsager/postgres issue 747); a
// handle of one connection pipelines its statements and stays as it is.
//
// A pipelined statement waits for those before it, so nothing slow belongs here: transactions, LISTEN and whatever
// takes its time use the pool.

import type { RootSql, Sql } from './connect.js'

/** Lanes under one tag: each statement takes the next of them. */
export interface Lanes {
  readonly sql: Sql
  /** Ends the connections once their statements are done, or after so many seconds. */
  end(options: { readonly timeout: number }): Promise<void>
}

/** Makes so many lanes; a lane connects with its first statement. */
export function createLanes(count: number, makeHandle: () => RootSql): Lanes {
  const handles = Array.from({ length: count }, makeHandle)
  let turn = 0
  const next = () => handles[turn++ % count] as RootSql
  const tag = (...args: unknown[]) => Reflect.apply(next(), undefined, args)
  const unsafe: Sql['unsafe'] = (...args) => next().unsafe(...args)
  return {
    // What else a handle can do (helpers, types) is the same for all.
    sql: Object.assign(tag, handles[0], { unsafe }) as unknown as Sql,
    end: async (options) => {
      await Promise.all(handles.map((handle) => handle.end(options)))
    },
  }
}
