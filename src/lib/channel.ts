// Messages to another process of this instance, and from it.

/** Both ends of a channel hear what the other sends, in order. */
export interface Channel {
  send(message: object): void
  /** Calls back for every message from now on. */
  listen(hear: (message: unknown) => void): void
}
