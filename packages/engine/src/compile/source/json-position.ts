// Where the parts of a text of JSON begin. The YAML parser, which JSON is a form of, takes a second for two
// megabytes; here an object is read when a part of it is asked for.

export interface Member {
  /** Of its name, or of an item. */
  readonly start: number
  readonly value: number
}

/** Finds the offset of the members of a value, by the value's own. @param text valid JSON */
export type MembersAt = (value: number) => ReadonlyMap<string, Member>

/** The first of members with the same name counts. */
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

/** The offset of the outermost value. */
export function firstValue(text: string): number {
  return afterSpace(text, 0)
}

function afterSpace(text: string, at: number): number {
  let end = at
  while (' \t\r\n'.includes(text[end] ?? 'end')) end += 1
  return end
}

// A quote ends a text unless an odd number of backslashes is before it.
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
