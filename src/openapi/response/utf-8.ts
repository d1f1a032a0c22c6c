// Text that UTF-8 cannot hold. JSON escapes a lone surrogate; in any other text, encoders write U+FFFD
// instead.

const loneSurrogate = /\p{Surrogate}/u

/** What is wrong with a text that would be sent as another one. */
export function utf8Fault(text: string): string | undefined {
  return loneSurrogate.test(text) ? 'has a lone surrogate, which UTF-8 cannot hold' : undefined
}
