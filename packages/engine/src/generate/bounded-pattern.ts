// Recognizes patterns that take time in proportion to a text, without recheck, whose analysis of the pattern
// of a UUID takes a second. Such a pattern is a sequence of characters with bounded repetitions that allow
// only few ways to match.

// A character, a class of characters, or an escape of one; then its number of repetitions.
const item =
  /(?:\\[dDwWsS]|\\[\^$\\.*+?()[\]{}|/-]|\[\^?(?:\\[\^$\\.*+?()[\]{}|/dDwWsS-]|[^\\\]])*\]|[^\\^$.*+?()[\]{}|])(\?|\{(\d+)(?:,(\d+))?\})?/uy

// For each position at which a match may begin. The actual number is far lower.
const stepsMax = 10_000

/**
 * True if a pattern has no alternatives, groups or unlimited repetitions, and only few and short ways to
 * match.
 */
export function isBounded(source: string): boolean {
  const pattern = source.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')
  let ways = 1
  let length = 0
  for (item.lastIndex = 0; item.lastIndex < pattern.length; ) {
    const found = item.exec(pattern)
    if (found === null) return false
    const [min, max] = timesOf(found)
    ways *= max - min + 1
    length += max
    if (!(ways * length <= stepsMax)) return false
  }
  return true
}

function timesOf([, often, min, max = min]: RegExpExecArray): readonly [min: number, max: number] {
  if (often === undefined) return [1, 1]
  return often === '?' ? [0, 1] : [Number(min), Number(max)]
}
