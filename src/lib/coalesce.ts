// Coalesces simultaneous calls.

import { setImmediate as nextIteration } from 'node:timers/promises'

/**
 * Calls `run` once for all callers with the same key in one iteration of the event loop. It starts after the last of them, so no caller
 * gets a result that is older than its call. Nothing is cached.
 */
export type Coalesce<Caller, Result> = (
  key: string,
  caller: Caller,
  run: (callers: readonly Caller[]) => Promise<Result>,
) => Promise<Result>

interface Run<Caller, Result> {
  readonly callers: Caller[]
  readonly result: Promise<Result>
}

/** Creates a coalescer with its own keys. */
export function createCoalesce<Caller, Result>(): Coalesce<Caller, Result> {
  // A map for each iteration: one that is added to and deleted from all the time is reallocated as often, and V8 links each old table to the
  // next, so that their entries would live until a full garbage collection.
  let runs: Map<string, Run<Caller, Result>> | undefined
  let iteration = Promise.resolve()
  return (key, caller, run) => {
    if (runs === undefined) {
      runs = new Map()
      iteration = nextIteration().then(() => {
        runs = undefined
      })
    }
    let same = runs.get(key)
    if (same === undefined) {
      const callers: Caller[] = []
      same = { callers, result: iteration.then(() => run(callers)) }
      runs.set(key, same)
    }
    same.callers.push(caller)
    return same.result
  }
}

/** Returns a function that shares the result of the run in flight, or starts one. */
export function singleFlight<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= run().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
