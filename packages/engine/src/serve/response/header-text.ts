// The text of a header, of a response or of a request that the service sends.

// RFC 9110, section 5.5. Node throws at others when the response has already started, and a line break would
// begin another header wherever it is not refused.
const invalid = /[^\t\x20-\x7e\x80-\xff]/

/** The value of a header as text; undefined if it has characters that HTTP does not allow. */
export function headerText(value: unknown): string | undefined {
  const text = String(value)
  return invalid.test(text) ? undefined : text
}
