// What an operation may answer: statuses, headers, contents.

import { misspelt } from '../lib/misspelt.js'
import { readContents } from './content.js'
import { isToken } from './names.js'
import { shapesOf } from './parameters.js'
import type { Node, Reader } from './reader.js'
import type { Header, Response } from './types.js'

/** By status, in lower case. */
export function readResponses(reader: Reader, place: string, operation: Node): Map<string, Response> {
  const responses = Object.entries(reader.node(operation.responses)).filter(([key]) => !key.startsWith('x-'))
  if (responses.length === 0) reader.problem(`${place} declares no responses`)
  return new Map(
    responses.map(([key, value], i) => {
      if (isAgain(responses, i)) reader.problem(`${place}: its answer ${key} is declared twice`)
      const response = reader.node(value)
      const status = key.toLowerCase()
      if (!/^([2-5](\d\d|xx)|default)$/.test(status))
        reader.problem(
          `${place}: ${key} is no status of an answer: those are 200 to 599, 2XX to 5XX, and default`,
        )
      const contents = readAnswer(reader, place, status, response)
      return [status, { status, key, headers: readHeaders(reader, place, response), contents }]
    }),
  )
}

// Statuses whose answers end with their headers (RFC 9110, section 6.4.1; 205 by section 15.3.6).
const bodiless = ['204', '205', '304']

function readAnswer(reader: Reader, place: string, status: string, response: Node): Response['contents'] {
  const answer = `${place}: its answer ${status}`
  if (bodiless.includes(status)) {
    if (Object.keys(reader.node(response.content)).length > 0)
      reader.leave(`${answer} has no body: the status allows none`)
    return []
  }
  const { contents, left } = readContents(reader, answer, response.content, false)
  for (const text of left) reader.leave(text)
  return contents
}

// They speak of the connection and of how a body is framed there, which is the HTTP server's to say (RFC 9110, section 7.6.1).
const ofConnection = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

// OpenAPI 3.1, section 4.8.17: a `Content-Type` among the headers says nothing.
function readHeaders(reader: Reader, place: string, response: Node): Header[] {
  const entries = Object.entries(reader.node(response.headers))
  const own = entries.filter(([name]) => name.toLowerCase() !== 'content-type')
  return own.map(([name, value], i) => {
    const header = reader.node(value)
    const schema = reader.inlined(header.schema) as Node
    for (const text of misspelt(Object.keys(header), ['x-set-by-server']))
      reader.unread(`${place}: its header ${name}: ${text}`)
    const isMore = header.content !== undefined || shapesOf(schema).has('object')
    const faults: [isFault: boolean, text: string][] = [
      [isAgain(own, i), 'is declared twice'],
      [!isToken(name), 'has a name that HTTP does not allow'],
      [
        ofConnection.includes(name.toLowerCase()),
        'is for the connection: the server sets it, and a handler cannot',
      ],
      [(header.style ?? 'simple') !== 'simple', `cannot have the style ${header.style}`],
      [header.schema !== undefined && header.content !== undefined, 'must have either a schema or a content'],
      [isMore, 'is more than a text or a list, which is not supported'],
    ]
    const fault = faults.find(([isFault]) => isFault)
    if (fault !== undefined) reader.unread(`${place}: its header ${name} ${fault[1]}`)
    return {
      name,
      required: header.required === true,
      schema,
      setByServer: header['x-set-by-server'] === true,
    }
  })
}

// In letters of another case, too.
function isAgain(entries: readonly [name: string, value: unknown][], i: number): boolean {
  const [name = ''] = entries[i] ?? []
  return entries.slice(0, i).some(([other]) => other.toLowerCase() === name.toLowerCase())
}
