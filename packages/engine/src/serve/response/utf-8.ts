// Text that UTF-8 cannot hold. JSON escapes a lone surrogate; in any other text, encoders write U+FFFD
// instead.

// Of ES2024, which Node 20 has and the types do not. A regular expression takes seven times as long.
type Checkable = string & { isWellFormed(): boolean }

/** What is wrong with a text that would be sent as another one. */
export function utf8Fault(text: string): string | undefined {
  return (text as Checkable).isWellFormed() ? undefined : 'has a lone surrogate, which UTF-8 cannot hold'
}
