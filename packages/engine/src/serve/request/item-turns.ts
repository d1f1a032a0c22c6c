// Bounds the time for which items are written and read in a turn of the event loop, over all streams. An
// event for a thousand readers of a feed would keep requests waiting until the last reader has it, because
// each copy is validated and written to a socket. So would the lines of a body that arrive together.

// A request needs several turns. Each turn handles one of the waiting items.
const turnMs = 0.25

// Shared by the process, as its event loop is: applications in one process share the turns.
const waiting: (() => void)[] = []
let endsMs = 0
let isScheduled = false

/**
 * Returns undefined if an item may be written or read in this turn, or else a promise of a later turn, in
 * order.
 */
export function itemTurn(): Promise<void> | undefined {
  const now = performance.now()
  if (!isScheduled) {
    endsMs = now + turnMs
    isScheduled = true
    setImmediate(beginTurn)
  }
  if (waiting.length === 0 && now < endsMs) return undefined
  return new Promise((resolve) => waiting.push(resolve))
}

function beginTurn(): void {
  const next = waiting.shift()
  isScheduled = next !== undefined
  endsMs = performance.now() + turnMs
  if (isScheduled) setImmediate(beginTurn)
  next?.()
}
