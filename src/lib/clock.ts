// Time that passes. The wall clock is for dates alone: it may be set, and what it measures would last an hour more, or end at once.

/** Milliseconds since some moment. Whole ones, so that what is left of a minute that has just begun is a minute. */
export function elapsedMs(): number {
  return Math.floor(performance.now())
}
