// What ends a process from outside: signals, and errors that nobody caught. The first asks it to stop in good order, the second
// to stop at once; what that means is up to whoever listens.

import os from 'node:os'
import { OperatorError } from './operator-error.js'

// Ctrl-C, `kill`, a terminal that closes, and Ctrl-\.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export type Signal = (typeof signals)[number]

/** A signal ended what was under way. */
export class Interrupted extends OperatorError {
  override name = 'Interrupted'
  /** As shells tell of a process that a signal ended: 130 for SIGINT. */
  readonly exitCode: number

  constructor(readonly signal: Signal) {
    super(`Interrupted by ${signal}.`)
    this.exitCode = 128 + os.constants.signals[signal]
  }
}

/** The reason of either signal is an `Interrupted`, or the error that nobody caught. */
export interface Shutdown {
  /** Aborted when the process is to stop. */
  readonly requested: AbortSignal
  /** Aborted when it is to stop at once. */
  readonly forced: AbortSignal
  /** Stop in good order, as by that signal, which may be on its way as well; where that is under way, nothing changes. */
  request(signal: Signal): void
  /** Stop at once, as by a second signal. */
  force(reason: Error): void
}

// Ctrl-C may come twice: from the terminal, and from npm, which passes it on. It is one and the same.
const sameSignalMs = 100

/** From now on, neither signals nor errors that nobody caught end the process by themselves. */
export function listenForShutdown(): Shutdown {
  const requested = new AbortController()
  const forced = new AbortController()
  const stop = (reason: Error) => (requested.signal.aborted ? forced : requested).abort(reason)
  const lastMs = new Map<Signal, number>()
  const hear = (signal: Signal) => {
    const isSame = performance.now() - (lastMs.get(signal) ?? Number.NEGATIVE_INFINITY) < sameSignalMs
    if (isSame) return
    lastMs.set(signal, performance.now())
    stop(new Interrupted(signal))
  }
  for (const signal of signals) process.on(signal, () => hear(signal))
  process.on('uncaughtException', stop)
  process.on('unhandledRejection', (reason) =>
    stop(reason instanceof Error ? reason : new Error(String(reason))),
  )
  return {
    requested: requested.signal,
    forced: forced.signal,
    request: (signal) => {
      if (!requested.signal.aborted) hear(signal)
    },
    force: (reason) => forced.abort(reason),
  }
}
