// Coalesces simultaneous calls.

/**
 * Calls `run` once for all callers with the same key in one iteration of the event loop. It starts after the last of them, so no caller
 * gets a result that is older than its call. Nothing is cached.
 */
export type Coalesce<Caller, Result> = (
  key: string,
  caller: Caller,
  run: (callers: readonly Caller[]) => Promise<Result>,
) => Promise<Result>

interface Pending<Caller, Result> {
  readonly callers: Caller[]
  readonly result: Promise<Result>
  start(): void
}

/** Creates a coalescer with its own keys. */
export function createCoalesce<Caller, Result>(): Coalesce<Caller, Result> {
  // A map for each iteration: one that is added to and deleted from all the time is reallocated as often, and V8 links each old table to the
  // next, so that their entries would live until a full garbage collection.
  let pending: Map<string, Pending<Caller, Result>> | undefined
  return (key, caller, run) => {
    if (pending === undefined) {
      const iteration = new Map<string, Pending<Caller, Result>>()
      pending = iteration
      setImmediate(() => {
        pending = undefined
        for (const each of iteration.values()) each.start()
      })
    }
    const same = pending.get(key)
    if (same !== undefined) {
      same.callers.push(caller)
      return same.result
    }
    const callers = [caller]
    const { promise: result, resolve } = withResolvers<Result>()
    pending.set(key, { callers, result, start: () => resolve(run(callers)) })
    return result
  }
}

// `Promise.withResolvers`, which Node has from version 22.
function withResolvers<Result>() {
  let resolve: (result: Promise<Result>) => void = () => {}
  const promise = new Promise<Result>((resolvePromise) => {
    resolve = resolvePromise
  })
  return { promise, resolve }
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
