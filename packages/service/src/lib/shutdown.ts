// Shutdown requests: signals, uncaught errors. The first requests a graceful shutdown, the second forces it.

import os from 'node:os'
import { OperatorError } from './operator-error.js'

// Ctrl-C, `kill`, a closed terminal, and Ctrl-\.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export type ShutdownSignal = (typeof signals)[number]

/** The process was interrupted by a signal. */
export class Interrupted extends OperatorError {
  override name = 'Interrupted'
  /** The shell's exit code for the signal: 130 for SIGINT. */
  readonly exitCode: number

  constructor(readonly signal: ShutdownSignal) {
    super(`Interrupted by ${signal}.`)
    this.exitCode = 128 + os.constants.signals[signal]
  }
}

/** The reason of both abort signals is an `Interrupted` or the uncaught error. */
export interface Shutdown {
  /** Aborted when the process should shut down gracefully. */
  readonly requested: AbortSignal
  /** Aborted when the process should stop at once. */
  readonly forced: AbortSignal
  /** Requests a graceful shutdown, like the signal, which may arrive too. Does nothing the second time. */
  request(signal: ShutdownSignal): void
  /** Forces the shutdown, like a second signal. */
  force(reason: Error): void
}

// npm forwards the Ctrl-C that the terminal has sent to the process group, on a busy machine much later.
const duplicateMs = 500

/** Handles signals and uncaught errors, which no longer end the process by themselves. */
export function listenForShutdown(): Shutdown {
  const requested = new AbortController()
  const forced = new AbortController()
  const stop = (reason: Error) => (requested.signal.aborted ? forced : requested).abort(reason)
  const lastMs = new Map<ShutdownSignal, number>()
  const receive = (signal: ShutdownSignal) => {
    const now = performance.now()
    if (now - (lastMs.get(signal) ?? Number.NEGATIVE_INFINITY) < duplicateMs) return
    lastMs.set(signal, now)
    stop(new Interrupted(signal))
  }
  for (const signal of signals) process.on(signal, () => receive(signal))
  process.on('uncaughtException', stop)
  process.on('unhandledRejection', (reason) =>
    stop(reason instanceof Error ? reason : new Error(String(reason))),
  )
  return {
    requested: requested.signal,
    forced: forced.signal,
    request: (signal) => {
      if (!requested.signal.aborted) receive(signal)
    },
    force: (reason) => forced.abort(reason),
  }
}
