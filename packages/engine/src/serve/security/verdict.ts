// The verdict on a request: who sent it, or why it may not pass.

import type { RequestError } from '../../document/request-error.js'
import type { Caller } from './check.js'

/** What is known of who sent a request. */
export interface Verdict<C extends Caller = Caller> {
  /**
   * The caller of the first scheme of the alternative that was met or, if `refusal` is a 403, of one that
   * lacks scopes or whose cookie a page of another site has used: a quota counts it, too.
   */
  readonly caller: C | undefined
  /** Of all schemes of the alternative that was met, by their names. */
  readonly callers: Readonly<Record<string, C>>
  /** The 401, 403 or 503 of a request that meets no alternative. */
  readonly refusal: RequestError | undefined
}
