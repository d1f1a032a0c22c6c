// Finds where the parts of a JSON text begin. The YAML parser, which could do it, takes a second for two
// megabytes; here an object is scanned when one of its parts is asked for.

export interface Member {
  /** The offset of the name, or of the item. */
  readonly start: number
  readonly value: number
}

/** Returns the offsets of a value's members, from the offset of the value. @param text valid JSON */
export type MembersAt = (value: number) => ReadonlyMap<string, Member>

/** Of members with the same name, the first counts. */
export function createMembers(text: string): MembersAt {
  const known = new Map<number, ReadonlyMap<string, Member>>()
  return (value) => {
    const members = known.get(value) ?? new Map(membersIn(text, value))
    known.set(value, members)
    return members
  }
}

function membersIn(text: string, value: number): [string, Member][] {
  const isList = text[value] === '['
  if (!isList && text[value] !== '{') return []
  const members: [string, Member][] = []
  let at = afterSpace(text, value + 1)
  while (text[at] !== (isList ? ']' : '}')) {
    const start = at
    const ofValue = isList ? start : afterSpace(text, afterSpace(text, afterString(text, start)) + 1)
    const name = isList ? String(members.length) : JSON.parse(text.slice(start, afterString(text, start)))
    members.push([name, { start, value: ofValue }])
    at = afterSpace(text, afterValue(text, ofValue))
    if (text[at] === ',') at = afterSpace(text, at + 1)
  }
  // A Map keeps the last of equal names.
  return members.reverse()
}

/** Returns the offset of the outermost value. */
export function firstValue(text: string): number {
  return afterSpace(text, 0)
}

function afterSpace(text: string, at: number): number {
  let end = at
  while (' \t\r\n'.includes(text[end] ?? 'end')) end += 1
  return end
}

// A quote ends a string unless an odd number of backslashes precedes it.
function afterString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end + 1
}

function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}

function afterValue(text: string, at: number): number {
  if (text[at] === '"') return afterString(text, at)
  if (text[at] !== '{' && text[at] !== '[') return endOfLiteral(text, at)
  let depth = 0
  let end = at
  do {
    const letter = text[end]
    if (letter === '{' || letter === '[') depth += 1
    if (letter === '}' || letter === ']') depth -= 1
    end = letter === '"' ? afterString(text, end) : end + 1
  } while (depth > 0)
  return end
}

function endOfLiteral(text: string, at: number): number {
  let end = at
  while (/[\w.+-]/.test(text[end] ?? '')) end += 1
  return end
}
