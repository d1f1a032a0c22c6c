// Stubs: the handlers of operations that are not implemented yet.

import { ownError } from './errors.js'

const stubs = new WeakSet<object>()

/** A stub for an operation without a handler yet: it responds 501 (`not_implemented`). */
export function notImplemented(operation: string): () => Promise<never> {
  const stub = async () => {
    throw ownError('not_implemented', `${operation} is not implemented.`)
  }
  stubs.add(stub)
  return stub
}

/** Whether a handler is a stub. */
export function isStub(handler: object): boolean {
  return stubs.has(handler)
}
