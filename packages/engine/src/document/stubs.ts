// Stubs: the handlers of operations that are not implemented yet.

import { ownError } from './request-error.js'

/** Marks a stub, for the compiler, too: a stub's security schemes may lack their checks. */
export const stubMark: unique symbol = Symbol('openapi.stub')

/** The handler of an operation that is not implemented yet. */
export interface Stub {
  (): Promise<never>
  readonly [stubMark]: true
}

/** Returns a stub for an operation without a handler: it responds 501 (`not_implemented`). */
export function notImplemented(operation: string): Stub {
  const stub = async () => {
    throw ownError('not_implemented', `${operation} is not implemented.`)
  }
  return Object.assign(stub, { [stubMark]: true as const })
}

/** True if a handler is a stub. */
export function isStub(handler: object): boolean {
  return stubMark in handler
}
