// What may be there already. A promise of it costs several microtasks, which every request would feel where its counts are
// in memory and its key is known.

export type MaybePromise<T> = T | Promise<T>

/** What `next` makes of a value: at once, or when it comes. */
export function thenMaybe<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs what a callback waits for, and calls back when that is done or has failed. */
export function callBack(run: () => MaybePromise<void>, done: (error?: Error) => void): void {
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
