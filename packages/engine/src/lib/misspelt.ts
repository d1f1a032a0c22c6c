// Finds misspelt names.

// Shorter names are similar to too many others.
const lengthMin = 7

/** Returns a message for each unknown name that is similar to a known one. */
export function misspelt(given: readonly string[], known: readonly string[]): string[] {
  const candidates = known.filter((name) => name.length >= lengthMin)
  return given
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = candidates.find((each) => areSimilar(name, each))
      return meant === undefined ? [] : [`${name} is unknown: did you mean ${meant}?`]
    })
}

/**
 * Returns the name that another one was probably meant to be: one that differs only in case, or by one
 * character.
 */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const folded = name.toLowerCase()
  return (
    names.find((each) => each.toLowerCase() === folded) ??
    names.find((each) => name.length >= shortMin && areSimilar(folded, each.toLowerCase()))
  )
}

// A name of two letters is similar to most others.
const shortMin = 3

// True if one character is missing, added or replaced, or two are swapped.
function areSimilar(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  const shorter = withoutOne(other)
  return withoutOne(one).some((each) => shorter.includes(each))
}

// Returns the name, and the name without each of its characters.
function withoutOne(name: string): string[] {
  return [name, ...Array.from(name, (_, i) => name.slice(0, i) + name.slice(i + 1))]
}
