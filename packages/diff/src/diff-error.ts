/** The documents cannot be compared; the message is one line. */
export class DiffError extends Error {
  override name = 'DiffError'
}
