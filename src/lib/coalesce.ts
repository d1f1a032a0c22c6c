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

/** Creates a coalescer with its own keys. */
export function createCoalesce<Caller, Result>(): Coalesce<Caller, Result> {
  const pending = new Map<string, { readonly callers: Caller[]; readonly result: Promise<Result> }>()
  return (key, caller, run) => {
    const same = pending.get(key)
    if (same !== undefined) {
      same.callers.push(caller)
      return same.result
    }
    const callers = [caller]
    const result = new Promise<Result>((resolve) => {
      setImmediate(() => {
        pending.delete(key)
        resolve(run(callers))
      })
    })
    pending.set(key, { callers, result })
    return result
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
