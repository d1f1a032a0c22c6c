// Names that nobody reads and that look like one that is read.

// Shorter names are near too many others.
const tellingLength = 7

/** What to say of names that are not known, and nearly those of one that is. */
export function misspelt(given: readonly string[], known: readonly string[]): string[] {
  const telling = known.filter((name) => name.length >= tellingLength)
  return given
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = telling.find((each) => areNear(name, each))
      return meant === undefined ? [] : [`${name} is not read: is ${meant} meant?`]
    })
}

// By one character that is missing, more, or another, or two that are swapped.
function areNear(one: string, other: string): boolean {
  const shorter = ofOneLess(other)
  return ofOneLess(one).some((each) => shorter.includes(each))
}

function ofOneLess(name: string): string[] {
  return [name, ...Array.from(name, (_, i) => name.slice(0, i) + name.slice(i + 1))]
}
