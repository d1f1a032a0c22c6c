/** The documents cannot be compared; the message says why, in one line. */
export class DiffError extends Error {
  override name = 'DiffError'
}
