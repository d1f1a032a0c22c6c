// Requests that ask for the same at the same time are answered once.

import { atEndOfTurn } from '../turn.js'

/** Runs once for all who ask by the same key in one turn of the event loop. */
export type Share<T> = (key: string, run: () => Promise<T>) => Promise<T>

/**
 * Makes it. What is run begins when all of them have asked, so nobody is told anything older than his question: this
 * remembers nothing.
 */
export function createShare<T>(): Share<T> {
  const asked = new Map<string, Promise<T>>()
  return (key, run) => {
    const same = asked.get(key)
    if (same !== undefined) return same
    const answer = new Promise<T>((resolve) => {
      atEndOfTurn(() => {
        asked.delete(key)
        resolve(run())
      })
    })
    asked.set(key, answer)
    return answer
  }
}
