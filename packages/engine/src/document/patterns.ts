// Reads patterns as JavaScript does: with the flag `u`, as JSON Schema requires, or else without it.

/**
 * Returns the regular expression of a pattern.
 * @throws {Error} if JavaScript cannot read it, or would read something else than its author meant
 */
export function toRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(portable(pattern), flags)
  } catch (error) {
    if (isReadWithout(pattern)) return new RegExp(pattern)
    throw new Error(`the pattern ${pattern} is not a valid JavaScript regular expression`, { cause: error })
  }
}

/**
 * Returns the text of a pattern by which JavaScript matches as the server does; undefined if JavaScript
 * cannot read it.
 */
export function patternSource(pattern: string): string | undefined {
  try {
    return toRegExp(pattern, 'u').source
  } catch {
    return undefined
  }
}

/** True if a pattern is valid only without the flag `u`. Then a character beyond U+FFFF counts as two. */
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

// Matches what JavaScript reads differently without `u`: an escaped letter with a meaning in another syntax,
// such as `\A` or `\p{L}`, would stand for the letter; braces after nothing, or with a comma first, would
// stand for themselves.
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
