// Messages between the processes of an instance.

/** One end of a two-way channel. Messages arrive in order. */
export interface Channel {
  send(message: object): void
  /** Calls `listener` for every message from now on. */
  listen(listener: (message: unknown) => void): void
}
