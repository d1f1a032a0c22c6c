// Of many findings that say the same of other places, the first few and how many there are.

const shownMax = 5

/** The lines of the first of each kind, and after them one that counts the others. */
export function summarizeByKind<Each>(
  all: readonly Each[],
  kindOf: (each: Each) => string,
  lineOf: (each: Each) => string,
  countLine: (count: number, kind: string) => string,
): string[] {
  const kinds = new Map<string, Each[]>()
  for (const each of all) {
    const kind = kindOf(each)
    const alike = kinds.get(kind)
    if (alike === undefined) kinds.set(kind, [each])
    else alike.push(each)
  }
  return [...kinds].flatMap(([kind, alike]) => {
    const lines = alike.slice(0, shownMax).map(lineOf)
    const others = alike.length - lines.length
    return others > 0 ? [...lines, countLine(others, kind)] : lines
  })
}

/** What a sentence about an operation says, whichever operation, parameter or field it is about. */
export function withoutNames(text: string): string {
  return text
    .replace(/^(\S+:\d+:\d+: )?([A-Z]+ )?\S+ /, '')
    .replace(/\b(default|of|field|parameter|header|answer|body|declare|called) \S+/g, '$1')
}
