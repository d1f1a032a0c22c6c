// Shortens lists of warnings: shows the first few of each kind, and counts the others.

const shownMax = 5

/** Returns lines for the first five of each kind, each kind followed by a line that counts the others. */
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

/** Returns the kind of a warning: its text without the names of operations, parameters, fields and roles. */
export function withoutNames(text: string): string {
  return text
    .replace(/^(\S+:\d+:\d+: )?([A-Z]+ )?\S+ /, '')
    .replace(/(?<= the roles ).*?(?=, which )/, '')
    .replace(/\b(default|of|field|parameter|header|response|body|uses|alternative|called) \S+/g, '$1')
}
