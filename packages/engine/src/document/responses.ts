// What a contract says of responses: which are errors, and what they may contain.

import { isDeepStrictEqual } from 'node:util'
import type { Content, Operation, Response } from './contract.js'
import { essence, responseContent } from './media-types.js'

/** The contents of responses. */
export function contentsOf(responses: Iterable<Response>): Content[] {
  return [...responses].flatMap(({ contents }) => contents)
}

/** Whether a response may be a stream of items. */
export function hasStreams(responses: Operation['responses']): boolean {
  return contentsOf(responses.values()).some(({ kind }) => kind === 'stream')
}

/** The responses that are errors. */
export function errorsAmong(responses: Operation['responses']): Response[] {
  const statuses = [...responses.keys()]
  return [...responses.values()].filter(({ status }) => isOfErrors(status, statuses))
}

/** Whether a status is of errors; `default` is where a success is declared by its status. */
export function isOfErrors(status: string, all: readonly string[]): boolean {
  return /^[45]/.test(status) || (status === 'default' && all.some((each) => /^[23]/.test(each)))
}

/** The responses that are no errors. */
export function successesAmong(responses: Operation['responses']): Response[] {
  const errors = errorsAmong(responses)
  return [...responses.values()].filter((each) => !errors.includes(each))
}

/** The contents of an operation's successes, one for each media type, in the order of the document. */
export function successContents({ responses }: Pick<Operation, 'responses'>): readonly Content[] {
  const contents = new Map<string, Content>()
  for (const content of contentsOf(successesAmong(responses))) {
    const name = essence(content.mediaType)
    if (!contents.has(name)) contents.set(name, content)
  }
  return [...contents.values()]
}

/** Whether a request whose `Accept` has none of its media types is refused: the operation declares a 406. */
export function refusesUnacceptable(operation: Pick<Operation, 'responses'>): boolean {
  return operation.responses.has('406') && successContents(operation).length > 0
}

/** Whether `Accept` may change the responses of an operation. */
export function dependsOnAccept(operation: Pick<Operation, 'responses'>): boolean {
  return successContents(operation).length > 1 || refusesUnacceptable(operation)
}

/**
 * The contents that a body may be written as whose handler names no media type, in the order of the document:
 * in a success, all that are written from one value, because they have the same schema.
 */
export function silentContents(response: Response, responses: Operation['responses']): readonly Content[] {
  const { contents } = response
  const silent = responseContent(contents, undefined)
  if (silent === undefined) return []
  if (!isWritten(silent) || errorsAmong(responses).includes(response)) return [silent]
  return contents.filter((each) => isWritten(each) && isDeepStrictEqual(each.schema, silent.schema))
}

// From a value, as another could be from the same one.
function isWritten({ kind }: Content): boolean {
  return kind === 'json' || kind === 'csv'
}
