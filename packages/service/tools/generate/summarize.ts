// Shortens lists of warnings: the first few of each kind, and the number of the others.

const shownMax = 5

/** The lines of the first five of each kind, followed by a line with the number of the others. */
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

/** The kind of a warning: its text without the names of the operation, parameter, field or roles. */
export function withoutNames(text: string): string {
  return text
    .replace(/^(\S+:\d+:\d+: )?([A-Z]+ )?\S+ /, '')
    .replace(/(?<= the roles ).*?(?=, which )/, '')
    .replace(/\b(default|of|field|parameter|header|response|body|uses|alternative|called) \S+/g, '$1')
}
