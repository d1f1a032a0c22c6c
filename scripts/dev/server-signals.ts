// Preloaded into the server by server.ts. A terminal sends Ctrl-C to every process of its group, and `dev`
// then SIGTERM, which would be src/main.ts's second, "exit now". So the server reacts to `dev` alone.

const fromTerminal = new Set<unknown>(['SIGINT', 'SIGHUP'])
const emit = process.emit.bind(process) as (name: unknown, ...args: unknown[]) => boolean
const emitOthers = (name: unknown, ...args: unknown[]) =>
  fromTerminal.has(name) ? true : emit(name, ...args)
process.emit = emitOthers as typeof process.emit // the type has an overload for each event
// Without a listener, Node exits on these signals.
for (const name of fromTerminal) process.on(name as NodeJS.Signals, () => {})
