// Loaded before src/main.ts by server.ts. Ctrl-C reaches every process of a terminal, so the server would hear
// of it twice, once from whoever runs it, and src/main.ts takes a second signal for "at once". So it hears the one alone.

const fromTerminal = new Set<unknown>(['SIGINT', 'SIGHUP'])
const emit = process.emit.bind(process) as (name: unknown, ...args: unknown[]) => boolean
const emitOthers = (name: unknown, ...args: unknown[]) =>
  fromTerminal.has(name) ? true : emit(name, ...args)
process.emit = emitOthers as typeof process.emit
// While nobody listens, Node ends the process.
for (const name of fromTerminal) process.on(name as NodeJS.Signals, () => {})
