/** What may be there already. A promise of it costs turns of the microtask queue, which a busy process feels. */
export type Soon<T> = T | Promise<T>

/** Goes on with it: at once, or when it comes. */
export function proceed<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Does some work of a hook, and calls back when it is done or has failed. */
export function callBack(work: () => Soon<void>, done: (error?: Error) => void): void {
  let soon: Soon<void>
  try {
    soon = work()
  } catch (error) {
    done(error as Error)
    return
  }
  if (soon instanceof Promise) soon.then(() => done(), done)
  else done()
}
