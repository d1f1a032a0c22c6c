// Loaded before src/main.ts by server.ts. Ctrl-C reaches every process of a terminal, so a server would hear of it twice,
// once from `dev`, and src/main.ts takes a second signal for "at once". So it hears `dev` alone.

const fromTerminal = new Set<unknown>(['SIGINT', 'SIGHUP'])
const emit = process.emit.bind(process) as (name: unknown, ...args: unknown[]) => boolean
const emitOthers = (name: unknown, ...args: unknown[]) =>
  fromTerminal.has(name) ? true : emit(name, ...args)
process.emit = emitOthers as typeof process.emit // whose overloads are one for each event
// While nobody listens, Node ends the process.
for (const name of fromTerminal) process.on(name as NodeJS.Signals, () => {})
