// The types of any contract's handlers, over the types that are generated of it.

import type { BaseLogger } from 'pino'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/database.js'

/** What is generated of each operation. */
export type AnyOperations<Operations> = {
  readonly [Id in keyof Operations]: {
    readonly security: string
    readonly isPublic: boolean
    readonly request: object
    readonly response: object
  }
}

/** The context of an operation's handler, or of any handler for a union of operations. */
export type ContextOf<
  Operation extends { readonly security: string; readonly isPublic: boolean },
  Services,
> = HandlerContext<
  true extends Operation['isPublic'] ? Client | undefined : Client,
  Operation['security'],
  Services
>

// By these types, because TypeScript compares contexts by name: those of two operations would never fit.
/** The second argument of a handler. */
export interface HandlerContext<Caller, Schemes extends string, Services> {
  readonly sql: Sql
  /**
   * The request's own path as a relative reference, `pets` for `/v1/pets`: the start of links, such as
   * `${self}/7`. Write links relative to that path; they are sent as absolute URLs. Like `link` and `signal`,
   * it is made when it is read, so a copy of the context by spread is without it.
   */
  readonly self: string
  /**
   * A `Link` to the request's own path and query with other values of some parameters, such as where the next
   * page begins.
   */
  link(rel: string, query: Readonly<Record<string, string | number | bigint>>): string
  /**
   * The media type of the body, such as `image/png` where the contract declares `image/*`. Undefined without
   * a body.
   */
  readonly contentType: string | undefined
  /** The request's log: each line has its id. Nothing that a line says of a caller may be a credential. */
  readonly log: Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>
  /**
   * Aborted once the request is over: it timed out, its client has gone, or its response is sent. For what
   * the handler waits for besides `sql`, which ends by itself: `fetch(url, { signal })`.
   */
  readonly signal: AbortSignal
  /** Who sent the request. Undefined only without a credential, where the operation requires none. */
  readonly client: Caller
  /** By their names, the callers of the schemes that the request meets: where it has to meet several, all. */
  readonly callers: { readonly [Name in Schemes]?: Client }
  /** The team's own. */
  readonly services: Omit<Services, 'close'>
}

/** A handler for every operation. It throws a RequestError for expected failures. */
export type HandlersOf<Operations extends AnyOperations<Operations>, Services> = {
  readonly [Id in keyof Operations]: Marks &
    ((
      request: Operations[Id]['request'],
      context: ContextOf<Operations[Id], Services>,
    ) => Promise<Operations[Id]['response']>)
}

interface Marks {
  /**
   * True for one that does nothing but one batched statement, with no effect outside of the database.
   * Requests with an `Idempotency-Key` that arrive together share a transaction then, and if one of them
   * fails, the handlers of the others run again. A second statement of such a handler fails.
   */
  readonly sharesTransaction?: boolean
}
