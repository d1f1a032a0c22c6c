// How much a request may take, counted: `test/scripts/trace.ts` compares.

/** A function that a request has entered, and its module. */
export interface Entry {
  readonly module: string
  readonly name: string
}

/** What is counted of a request. */
export interface Figures {
  readonly functions: number
  /** Entries of a function in another module than that before. */
  readonly changes: number
  readonly modules: number
}

/** The most changes of module of each request, and of a creation from the route handler to its INSERT. */
export const changesMax = {
  create: { whole: 125, toInsert: 31 },
  keyed: { whole: 142, toInsert: 42 },
  list: { whole: 97 },
  get: { whole: 91 },
} as const

export type Kind = keyof typeof changesMax

/** Counts the entries of a request. */
export function figuresOf(trace: readonly Entry[]): Figures {
  const changes = trace.filter(({ module }, i) => i > 0 && trace[i - 1]?.module !== module).length
  return { functions: trace.length, changes, modules: new Set(trace.map(({ module }) => module)).size }
}

/**
 * The entries of a creation from its route handler to the statement that inserts; none of another request.
 */
export function toInsert(trace: readonly Entry[]): readonly Entry[] {
  const start = trace.findIndex(({ module }) => module === 'engine/serve/route-handler')
  const insert = trace.findIndex(({ name }) => name === 'writeRow')
  const sent = trace.findIndex(({ module }, i) => i > insert && module === 'database/driver/connection')
  return insert === -1 ? [] : trace.slice(start, sent + 1)
}

/** Says which figures of a request are larger than they may be, and what to do. */
export function excessOf(kind: Kind, trace: readonly Entry[]): string[] {
  const limits: Readonly<Record<string, number>> = changesMax[kind]
  const changes = { whole: figuresOf(trace).changes, toInsert: figuresOf(toInsert(trace)).changes }
  return Object.entries(changes).flatMap(([part, count]) => {
    const max = limits[part] ?? 0
    if (count <= max) return []
    const advice = `Take a layer out of its way (npm run trace -- ${kind}), or raise the figure in`
    return `${kind}, ${part}: ${count} changes of module, ${max} at most. ${advice} scripts/trace/figures.ts.`
  })
}
