// The types of handlers, for the generated types of any contract.

import type { BaseLogger } from 'pino'
import type { Client } from '../auth/client.js'
import type { Sql } from '../database/database.js'

/** The parts of the generated type of an operation that handlers need. */
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

// Generic over these types, not over the operation: TypeScript would never fit the contexts of two
// operations.
/** The second argument of a handler. */
export interface HandlerContext<Caller, Schemes extends string, Services> {
  readonly sql: Sql
  /**
   * The request's own path as a relative reference, `pets` for `/v1/pets`, to begin links such as
   * `${self}/7`. Links are relative to that path; the service sends them as absolute URLs. Like `link` and
   * `signal`, this is a getter, so a spread of the context lacks it.
   */
  readonly self: string
  /**
   * Returns a `Link` to the request's own path and query, with other values for some parameters, such as the
   * position of the next page.
   */
  link(rel: string, query: Readonly<Record<string, string | number | bigint>>): string
  /**
   * The media type of the body, such as `image/png` where the contract declares `image/*`. Undefined without
   * a body.
   */
  readonly contentType: string | undefined
  /** The request's log, whose lines have its id. Never log a credential. */
  readonly log: Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>
  /**
   * Aborted once the request is over: it timed out, its client has gone, or its response is sent. Pass it to
   * whatever the handler waits for: `fetch(url, { signal })`. Statements of `sql` end by themselves.
   */
  readonly signal: AbortSignal
  /** The caller. Undefined only if the operation allows requests without a credential. */
  readonly client: Caller
  /** The callers by name of the scheme, for an operation whose requests meet several schemes. */
  readonly callers: { readonly [Name in Schemes]?: Client }
  /** The team's own services. */
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
   * Set this to true if the handler runs a single batched statement and has no effect outside of the
   * database. Requests with an `Idempotency-Key` that arrive together then share a transaction. If one of
   * them fails, the handlers of the others run again. A second statement of such a handler fails.
   */
  readonly sharesTransaction?: boolean
}
