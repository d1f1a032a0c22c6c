// Monotonic time, for durations. The wall clock may be set, which would lengthen or end a duration.

/** Whole milliseconds since the start of the process. Whole, so that the rest of a minute that has just begun is a minute. */
export function elapsedMs(): number {
  return Math.floor(performance.now())
}
