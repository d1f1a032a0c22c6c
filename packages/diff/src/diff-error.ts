/** The error of documents that cannot be compared. Its message is one line. */
export class DiffError extends Error {
  override name = 'DiffError'
}
