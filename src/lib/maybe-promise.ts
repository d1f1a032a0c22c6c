// Values that may be available synchronously. A promise costs several microtasks on every request, even if the counts are in memory and
// the key is cached.

export type MaybePromise<T> = T | Promise<T>

/** Like `then`, but synchronous for a value that is not a promise. */
export function thenMaybe<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs a function and calls `done` when it has finished or failed. */
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
