// Monotonic time, for durations. The wall clock may be set, which would lengthen or end a duration.

/** Milliseconds since the start of the process, whole: the rest of a minute just begun is a minute. */
export function elapsedMs(): number {
  return Math.floor(performance.now())
}
