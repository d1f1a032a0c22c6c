// Reads Response Objects: statuses, headers and content.

import type { Header, Response } from '../../document/contract.js'
import { found, type Node, type Reader } from '../../document/reader.js'
import { isOfErrors } from '../../document/responses.js'
import type { Use } from '../../kinds/declared-kind.js'
import { isToken } from '../../lib/field-values.js'
import { misspelt } from '../../lib/misspelt.js'
import { readContents } from './content.js'
import { shapesOf } from './parameters.js'

/** Returns the responses of an operation, by status in lower case. */
export function readResponses(reader: Reader, place: string, operation: Node): Map<string, Response> {
  const responses = responsesIn(reader, operation)
  if (responses.length === 0) noteMissing(reader, place, operation)
  const statuses = responses.map(([key]) => key.toLowerCase())
  return new Map(
    responses.map(([key, value], i) => {
      if (isRepeated(responses, i)) reader.problem(`${place}: the response ${key} is declared twice`)
      const response = reader.node(value)
      const status = key.toLowerCase()
      if (!isStatus(status))
        reader.problem(
          `${place}: the response ${key} must be a status from 200 to 599, 2XX to 5XX, or default`,
        )
      const isError = isOfErrors(status, statuses)
      const contents = readContent(reader, place, status, response, isError ? 'error' : 'response')
      return [status, { status, key, headers: readHeaders(reader, place, response), contents }]
    }),
  )
}

// Responses are optional since OpenAPI 3.1, but without them a handler could return nothing.
function noteMissing(reader: Reader, place: string, { responses }: Node): void {
  const text = `${place} declares no responses`
  if (responses !== undefined || reader.version.startsWith('3.0')) reader.problem(text)
  else reader.unsupported(text)
}

/** Returns the responses of an operation by their keys, without extensions. */
export function responsesIn(reader: Reader, { responses }: Node): [key: string, response: unknown][] {
  return Object.entries(reader.node(responses)).filter(([key]) => !key.startsWith('x-'))
}

/** True if a key of responses, in lower case, stands for final statuses. */
export function isStatus(key: string): boolean {
  return /^([2-5](\d\d|xx)|default)$/.test(key)
}

/** Statuses whose responses have no body (RFC 9110, section 6.4.1; 205 by section 15.3.6). */
export const bodiless: readonly string[] = ['204', '205', '304']

function readContent(
  reader: Reader,
  place: string,
  status: string,
  { content }: Node,
  use: Use,
): Response['contents'] {
  const response = `${place}: the response ${status}`
  if (bodiless.includes(status)) {
    if (Object.keys(reader.node(content)).length > 0)
      reader.warn(`${response} cannot have a body: its content is ignored`)
    return []
  }
  return readContents(reader, response, content, use)
}

// Headers of the connection and of message framing, which the HTTP server sets (RFC 9110, section 7.6.1).
const connectionHeaders = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

// Headers that the HTTP server adds after the response has been validated.
const sentLast = ['content-length', 'date']

// OpenAPI 3.1, section 4.8.17: a `Content-Type` in `headers` is ignored.
function readHeaders(reader: Reader, place: string, response: Node): Header[] {
  const entries = Object.entries(reader.node(response.headers))
  const read = entries.filter(([name]) => name.toLowerCase() !== 'content-type')
  return read.map(([name, value], i) => {
    const unsupported = (text: string) => reader.unsupported(`${place}: the response header ${name}${text}`)
    const header = reader.node(value)
    const schema = reader.dereferenced(header.schema) as Node
    for (const text of misspelt(Object.keys(header), ['x-set-by-server'])) unsupported(`: ${text}`)
    const [fault] = isRepeated(read, i) ? ['is declared twice'] : headerFaults(name, header, schema)
    if (fault !== undefined) unsupported(` ${fault}`)
    const { required, 'x-set-by-server': setByServer } = header
    return { name, required: required === true, schema, setByServer: setByServer === true }
  })
}

function headerFaults(name: string, { required, style = 'simple', ...header }: Node, schema: Node): string[] {
  const key = name.toLowerCase()
  const isStructured = header.content !== undefined || shapesOf(schema).has('object')
  return found([
    [!isToken(name), 'has a name that HTTP does not allow'],
    [connectionHeaders.includes(key), 'is set by the HTTP server: a handler cannot set it'],
    [
      required === true && sentLast.includes(key),
      'cannot be required: the HTTP server adds it to what a handler returns',
    ],
    [style !== 'simple', `cannot have the style ${style}`],
    [header.schema !== undefined && header.content !== undefined, 'must have either schema or content'],
    [isStructured, 'must be a primitive or an array: objects and content are not supported'],
  ])
}

// Names are case-insensitive.
function isRepeated(entries: readonly [name: string, value: unknown][], i: number): boolean {
  const [name = ''] = entries[i] ?? []
  return entries.slice(0, i).some(([other]) => other.toLowerCase() === name.toLowerCase())
}
