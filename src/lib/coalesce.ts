// What is asked for at the same time is done once.

/**
 * Runs once for all who ask by the same key in one iteration of the event loop, and is told who they are. It begins when all of them
 * have asked, so nobody gets anything older than his question: nothing is remembered.
 */
export type Coalesce<Asker, Result> = (
  key: string,
  asker: Asker,
  run: (askers: readonly Asker[]) => Promise<Result>,
) => Promise<Result>

/** Makes a coalescer with keys of its own. */
export function createCoalesce<Asker, Result>(): Coalesce<Asker, Result> {
  const gathering = new Map<string, { readonly askers: Asker[]; readonly result: Promise<Result> }>()
  return (key, asker, run) => {
    const same = gathering.get(key)
    if (same !== undefined) {
      same.askers.push(asker)
      return same.result
    }
    const askers = [asker]
    const result = new Promise<Result>((resolve) => {
      setImmediate(() => {
        gathering.delete(key)
        resolve(run(askers))
      })
    })
    gathering.set(key, { askers, result })
    return result
  }
}

/** The result of the run in flight for whoever asks meanwhile, or of a new one. */
export function singleFlight<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= run().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
