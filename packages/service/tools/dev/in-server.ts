// server.ts preloads this module into the server: it connects the server to `dev`.

import { filesRead } from 'contract-engine/lib/files-read'

/** The message from the server to `dev`: it has read this file of a contract. */
export interface FileRead {
  readonly fileRead: string
}

filesRead.subscribe((file) => {
  const told: FileRead = { fileRead: String(file) }
  process.send?.(told)
})

// The server ignores the terminal's signals and obeys `dev` alone. A terminal sends Ctrl-C to every process
// of its group; src/main.ts would take the SIGTERM that `dev` sends next for a second signal, "exit now".
const fromTerminal = new Set<unknown>(['SIGINT', 'SIGHUP'])
const emit = process.emit.bind(process) as (name: unknown, ...args: unknown[]) => boolean
const emitOthers = (name: unknown, ...args: unknown[]) =>
  fromTerminal.has(name) ? true : emit(name, ...args)
process.emit = emitOthers as typeof process.emit // a cast, because the type has an overload for each event
// Without a listener, Node exits on these signals.
for (const name of fromTerminal) process.on(name as NodeJS.Signals, () => {})
