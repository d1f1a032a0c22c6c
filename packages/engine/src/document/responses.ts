// Tells which responses of a contract are errors, and what responses may contain.

import type { Content, Operation, Response } from './contract.js'
import { essence } from './media-types.js'

/** Returns the contents of responses. */
export function contentsOf(responses: Iterable<Response>): Content[] {
  return [...responses].flatMap(({ contents }) => contents)
}

/** Returns the responses that are errors. */
export function errorsAmong(responses: Operation['responses']): Response[] {
  const statuses = [...responses.keys()]
  return [...responses.values()].filter(({ status }) => isOfErrors(status, statuses))
}

/** True if a status is of errors. `default` is one if a success is declared by its status. */
export function isOfErrors(status: string, all: readonly string[]): boolean {
  return /^[45]/.test(status) || (status === 'default' && all.some((each) => /^[23]/.test(each)))
}

/** Returns the responses that are not errors. */
export function successesAmong(responses: Operation['responses']): Response[] {
  const errors = errorsAmong(responses)
  return [...responses.values()].filter((each) => !errors.includes(each))
}

/**
 * Returns the contents of an operation's successes, one for each media type, in the order of the document.
 */
export function successContents({ responses }: Pick<Operation, 'responses'>): readonly Content[] {
  const contents = new Map<string, Content>()
  for (const content of contentsOf(successesAmong(responses))) {
    const name = essence(content.mediaType)
    if (!contents.has(name)) contents.set(name, content)
  }
  return [...contents.values()]
}

/** True if the operation refuses a request whose `Accept` has none of its media types: it declares a 406. */
export function refusesUnacceptable(operation: Pick<Operation, 'responses'>): boolean {
  return operation.responses.has('406') && successContents(operation).length > 0
}

/** True if `Accept` may change the responses of an operation. */
export function dependsOnAccept(operation: Pick<Operation, 'responses'>): boolean {
  return successContents(operation).length > 1 || refusesUnacceptable(operation)
}
