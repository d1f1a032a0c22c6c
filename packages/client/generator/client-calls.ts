// Generates the types of the client's functions: what a call of an operation returns, by the media type that
// it wants.

import type { Operation } from 'contract-engine'
import type { Notation } from 'contract-engine/generate'
import { namedType } from 'contract-engine/generate'
import {
  type Content,
  essence,
  isRange,
  type Response,
  receivedAs,
  successesAmong,
} from 'contract-engine/tools'

/**
 * Returns the responses with which a call may resolve: the successes without redirections, which the client
 * follows.
 */
export function goodAnswers({ responses }: Operation): Response[] {
  return successesAmong(responses).filter(({ status }) => !status.startsWith('3'))
}

/** True if a call that names no media type returns a stream, because no response has another kind of body. */
export function isStream(operation: Operation): boolean {
  const contents = goodAnswers(operation).flatMap((answer) => answer.contents)
  return contents.length > 0 && contents.every((each) => receivedAs(each) === 'stream')
}

/** Returns the type of each content of a response. */
export function contentTypes({ id }: Operation, { key, contents }: Response, notation: Notation): string[] {
  const at = `operations[${JSON.stringify(id)}]['responses'][${JSON.stringify(key)}]['content']`
  return contents.map((content) => dataType(content, at, notation))
}

function dataType(content: Content, at: string, notation: Notation): string {
  const as = receivedAs(content)
  if (as === 'text') return 'string'
  if (as === 'bytes') return 'Uint8Array'
  const type = namedType(content, notation) ?? `${at}[${JSON.stringify(content.mediaType)}]`
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}

interface Received {
  readonly name: string
  readonly as: ReturnType<typeof receivedAs>
  readonly type: string
}

/**
 * Returns the types of an operation's function: one for each media type that a call may want, and last the
 * type of a call that wants none, because TypeScript infers from the last.
 */
export function callTypes(operation: Operation, request: string, notation: Notation): string[] {
  const answers = goodAnswers(operation)
  const received = answers.flatMap((answer) => receivedIn(operation, answer, notation))
  const mayBeEmpty = answers.some(({ contents }) => contents.length === 0)
  const names = [...new Set(received.map(({ name }) => name))].filter((name) => !isRange(name))
  const wanted = names.length > 1 ? names : []
  return [
    ...wanted.flatMap((name) => {
      const own = received.filter((each) => each.name === name)
      return typesOf(`${request} & Accepting<${JSON.stringify(name)}>`, own, mayBeEmpty)
    }),
    ...typesOf(request, received, mayBeEmpty),
  ]
}

function receivedIn(operation: Operation, answer: Response, notation: Notation): Received[] {
  const types = contentTypes(operation, answer, notation)
  return answer.contents.map((content, i) => {
    return { name: essence(content.mediaType), as: receivedAs(content), type: types[i] ?? 'unknown' }
  })
}

// If a response can be something else, a call gets a stream only if it asks for one.
function typesOf(request: string, received: readonly Received[], mayBeEmpty: boolean): string[] {
  const whole = received.filter((each) => each.as !== 'stream')
  if (whole.length === 0 && received.length > 0) return [`StreamCall<${request}, ${union(received)}>`]
  const empty = mayBeEmpty ? [{ type: 'undefined' }] : []
  const isFile = whole.length > 0 && whole.every((each) => each.as === 'bytes')
  const file = union([{ type: 'ReadableStream<Uint8Array>' }, ...empty])
  return [
    ...(isFile ? [`Call<${request} & FileOptions, ${file}>`] : []),
    `Call<${request}, ${union([...whole, ...empty])}>`,
  ]
}

function union(received: readonly Pick<Received, 'type'>[]): string {
  return [...new Set(received.map(({ type }) => type))].join(' | ') || 'unknown'
}
