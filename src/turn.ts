// The turns of the event loop. In each, a busy process reads what has arrived on many connections; what all of it asks for is
// known at the turn's end.

let waiting: (() => void)[] = []

/** Calls at the end of this turn, once all that has arrived is read; at the end of it at once. */
export function atEndOfTurn(call: () => void): void {
  if (waiting.length === 0) setImmediate(callAll)
  waiting.push(call)
}

// What they ask for in turn is called by the same loop.
function callAll(): void {
  for (let i = 0; i < waiting.length; i++) (waiting[i] as () => void)()
  waiting = []
}
