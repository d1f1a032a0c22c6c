// How many items are written in a turn of the event loop, of all streams together. An event for a thousand readers
// of a feed would keep requests waiting until the last reader has it: each is validated, and written to a socket.

// About a sixth of a millisecond: a request needs several turns.
const perTurn = 8

const waiting: (() => void)[] = []
let left = perTurn
let isScheduled = false

/** Undefined if an item may be written in this turn, else a promise of a later one, in order. */
export function itemTurn(): Promise<void> | undefined {
  if (!isScheduled) {
    isScheduled = true
    setImmediate(beginTurn)
  }
  if (left > 0) {
    left--
    return undefined
  }
  return new Promise((resolve) => waiting.push(resolve))
}

// Nobody waits as long as there is something left.
function beginTurn(): void {
  const next = waiting.splice(0, perTurn)
  left = perTurn - next.length
  isScheduled = waiting.length > 0
  if (isScheduled) setImmediate(beginTurn)
  for (const resolve of next) resolve()
}
