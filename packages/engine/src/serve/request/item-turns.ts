// How long items are written and read in a turn of the event loop, of all streams together. An event for a
// thousand readers of a feed would keep requests waiting until the last reader has it: each is validated, and
// written to a socket. So would the lines of a body that arrive together.

// A request needs several turns. Of the items that waited, each turn has one.
const turnMs = 0.25

// Of the process, as its event loop is: applications in it share the turns.
const waiting: (() => void)[] = []
let endsMs = 0
let isScheduled = false

/** Undefined if an item may be written or read in this turn, else a promise of a later one, in order. */
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
