// Preloaded into the server by server.ts: what `dev` needs of it.

import { filesRead } from 'contract-engine/lib/files-read'

/** What the server tells `dev`: a file of a contract that it reads. */
export interface FileRead {
  readonly fileRead: string
}

filesRead.subscribe((file) => {
  const told: FileRead = { fileRead: String(file) }
  process.send?.(told)
})

// A terminal sends Ctrl-C to every process of its group, and `dev` then SIGTERM, which would be src/main.ts's
// second, "exit now". So the server reacts to `dev` alone.
const fromTerminal = new Set<unknown>(['SIGINT', 'SIGHUP'])
const emit = process.emit.bind(process) as (name: unknown, ...args: unknown[]) => boolean
const emitOthers = (name: unknown, ...args: unknown[]) =>
  fromTerminal.has(name) ? true : emit(name, ...args)
process.emit = emitOthers as typeof process.emit // the type has an overload for each event
// Without a listener, Node exits on these signals.
for (const name of fromTerminal) process.on(name as NodeJS.Signals, () => {})
