// Requests that ask for the same at the same time are answered once.

/** Runs once for all who ask by the same key in one iteration of the event loop, and is told who they are. */
export type Share<Asker, T> = (
  key: string,
  asker: Asker,
  run: (askers: readonly Asker[]) => Promise<T>,
) => Promise<T>

/**
 * Makes a share of its own. What is run begins when all of them have asked, so nobody is told anything older than his
 * question: this remembers nothing.
 */
export function createShare<Asker, T>(): Share<Asker, T> {
  const asked = new Map<string, { readonly askers: Asker[]; readonly answer: Promise<T> }>()
  return (key, asker, run) => {
    const same = asked.get(key)
    if (same !== undefined) {
      same.askers.push(asker)
      return same.answer
    }
    const askers = [asker]
    const answer = new Promise<T>((resolve) => {
      setImmediate(() => {
        asked.delete(key)
        resolve(run(askers))
      })
    })
    asked.set(key, { askers, answer })
    return answer
  }
}
