// Patterns that are seen to take time in proportion to a text without an analysis, which takes a second for a
// UUID: characters one after the other, of which each may be repeated so often that all ways to match are
// few.

// A character, a class of them, or an escape that is one; then how often.
const item =
  /(?:\\[dDwWsS]|\\[\^$\\.*+?()[\]{}|/-]|\[\^?(?:\\[\^$\\.*+?()[\]{}|/dDwWsS-]|[^\\\]])*\]|[^\\^$.*+?()[\]{}|])(\?|\{(\d+)(?:,(\d+))?\})?/uy

// For each character that a match may begin with; the actual number is far lower.
const stepsMax = 10_000

/**
 * Whether a pattern has no alternatives, groups or unlimited repetitions, and few and short ways to match.
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
