// Limits for the work of a request. `test/scripts/trace.ts` compares them with a trace.

/** An entry into a function, with the function's module. */
export interface Entry {
  readonly module: string
  readonly name: string
}

/** The counts of a request's trace. */
export interface Figures {
  readonly functions: number
  /** How often a function was entered from another module than the one before. */
  readonly changes: number
  readonly modules: number
}

/**
 * The maximum changes of module: for each request, and for a creation from the route handler to its INSERT.
 */
export const changesMax = {
  create: { whole: 125, toInsert: 31 },
  keyed: { whole: 142, toInsert: 42 },
  list: { whole: 97 },
  get: { whole: 91 },
} as const

export type Kind = keyof typeof changesMax

/** Counts the entries in a request's trace. */
export function figuresOf(trace: readonly Entry[]): Figures {
  const changes = trace.filter(({ module }, i) => i > 0 && trace[i - 1]?.module !== module).length
  return { functions: trace.length, changes, modules: new Set(trace.map(({ module }) => module)).size }
}

/**
 * Returns the entries of a creation from its route handler to the INSERT statement; none for other requests.
 */
export function toInsert(trace: readonly Entry[]): readonly Entry[] {
  const start = trace.findIndex(({ module }) => module === 'engine/serve/route-handler')
  const insert = trace.findIndex(({ name }) => name === 'writeRow')
  const sent = trace.findIndex(({ module }, i) => i > insert && module === 'database/driver/connection')
  return insert === -1 ? [] : trace.slice(start, sent + 1)
}

/** Returns a line of advice for each figure of a request that exceeds its limit. */
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
