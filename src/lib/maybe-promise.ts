// Synchronous when possible. A promise costs several microtasks, and most requests need none: key and
// counters are in memory. They return a MaybePromise, for thenMaybe and, to Fastify, callbackify.

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** `promise.then(next)`, or `next(value)` at once. */
export function thenMaybe<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs a function and calls `done`, with its error if it throws or rejects: at once if it is synchronous. */
export function callbackify(run: () => MaybePromise<void>, done: (error?: Error) => void): void {
  let result: MaybePromise<void>
  try {
    result = run()
  } catch (error) {
    done(error as Error)
    return
  }
  if (result instanceof Promise) result.then(() => done(), done)
  else done()
}
