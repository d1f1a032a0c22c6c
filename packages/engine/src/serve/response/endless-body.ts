// A kind of body that the application has to know when its server closes: those in flight would keep it.

import { Readable } from 'node:stream'

/** A body without an end of its own, such as a feed: the server ends it when it closes. */
export abstract class EndlessBody extends Readable {
  /**
   * Whether its clients expect an end at any time, and come back, as those of events do (WHATWG HTML, section
   * 9.2). To others an end says that this is all: ended before, it must be cut.
   */
  abstract readonly isResumed: boolean
  /**
   * Ends the body behind what it has pushed, as its format ends. No failure of its source counts any more.
   */
  abstract finish(): void
}
