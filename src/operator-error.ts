/** Something that whoever runs the service can mend: the message says what and how, and needs no stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
