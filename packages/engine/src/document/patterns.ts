// Patterns as JavaScript reads them: with the flag `u`, as JSON Schema requires, or else without it.

/**
 * The regular expression of a pattern.
 * @throws {Error} if JavaScript cannot read it, or only as something else than its author meant
 */
export function toRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(portable(pattern), flags)
  } catch (error) {
    if (isReadWithout(pattern)) return new RegExp(pattern)
    throw new Error(`the pattern ${pattern} is not a valid JavaScript regular expression`, { cause: error })
  }
}

/** The text of a pattern that JavaScript reads as the server does; undefined if it cannot read it. */
export function patternSource(pattern: string): string | undefined {
  try {
    return toRegExp(pattern, 'u').source
  } catch {
    return undefined
  }
}

/** Whether a pattern is valid without the flag `u` alone: characters beyond U+FFFF then count as two. */
export function isLegacyPattern(pattern: string): boolean {
  return !isValid(portable(pattern), 'u') && isReadWithout(pattern)
}

// Patterns often contain needless escapes such as `\-`, which JavaScript rejects with the flag `u`.
function portable(pattern: string): string {
  return pattern.replace(/\\(.)/gsu, (whole, character: string) =>
    /[\w^$\\.*+?()[\]{}|/]/u.test(character) && character !== '_'
      ? whole
      : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

// Without `u`, an escaped letter that means something in another syntax, such as `\A` or `\p{L}`, would stand
// for the letter; and braces after nothing, or with a comma first, for themselves.
const ofOtherSyntax = /\\(?:[^\W\dbBcdDfknrsStuvwWx_]|u\{)|\{,\d/

function isReadWithout(pattern: string): boolean {
  return !ofOtherSyntax.test(pattern) && isValid(pattern, '')
}

function isValid(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp
  } catch {
    return false
  }
}
