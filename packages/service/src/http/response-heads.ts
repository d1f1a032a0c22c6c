// The heads of responses. Node checks each name and value of a head by regular expressions and joins them, on
// each response again: most are those of the response before. So a line that has been checked and joined is
// kept until its header gets another value.

import { type IncomingMessage, ServerResponse, STATUS_CODES, validateHeaderName } from 'node:http'

// Node decides by these headers how a response is framed.
const framing: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'transfer-encoding',
  'trailer',
  'keep-alive',
  'date',
  'expect',
])

// RFC 9110, section 5.5, in bytes, as in Node.
const notInValues = /[^\t\x20-\x7e\x80-\xff]/

interface Line {
  value: string
  text: string
}

const lines = new Map<string, Line>()
const linesMax = 100

/** A response that builds its head from kept lines, unless Node would change something in it. */
export class Response<Request extends IncomingMessage> extends ServerResponse<Request> {
  override writeHead(status: number, ...rest: unknown[]): this {
    const [headers] = rest
    const reason = STATUS_CODES[status]
    if (rest.length !== 1 || !isFields(headers) || reason === undefined || !isUsual(this, status))
      return super.writeHead(status, ...(rest as [])) // cast: the type has each form of the arguments apart
    this.statusCode = status
    this.statusMessage = reason
    const { known, others } = split(headers)
    ;(this as unknown as Store)._storeHeader(`HTTP/1.1 ${status} ${reason}\r\n${known}`, others)
    return this
  }
}

type Fields = Readonly<Record<string, unknown>>

function isFields(headers: unknown): headers is Fields {
  return typeof headers === 'object' && headers !== null && !Array.isArray(headers)
}

// True for a response that may have a body, and of which nothing has been set or sent before.
function isUsual(response: ServerResponse, status: number): boolean {
  const { headersSent, statusMessage, req } = response
  if (headersSent || statusMessage || req.headers.expect !== undefined) return false
  return status >= 200 && status !== 204 && status !== 304 && response.getHeaderNames().length === 0
}

/**
 * A private method of Node (26.10), missing from its types: makes a head from its first lines, and adds
 * Node's own.
 */
interface Store {
  _storeHeader(firstLines: string, headers: readonly unknown[]): void
}

// Returns the kept lines of most headers, and the names and values of the others, which Node checks.
function split(headers: Fields) {
  let known = ''
  const others: unknown[] = []
  for (const name in headers) {
    const value = headers[name]
    const line = framing.has(name) ? undefined : lineOf(name, value)
    if (line === undefined) others.push(name, value)
    else known += line
  }
  return { known, others }
}

function lineOf(name: string, value: unknown): string | undefined {
  const kept = lines.get(name) ?? begin(name)
  if (kept === undefined || kept.value === value) return kept?.text
  if (typeof value !== 'string' || notInValues.test(value)) return undefined
  kept.value = value
  kept.text = `${name}: ${value}\r\n`
  return kept.text
}

// Begins a line for a name in lower case, as nearly all names of the contract and of the service are.
function begin(name: string): Line | undefined {
  if (lines.size === linesMax || name !== name.toLowerCase()) return undefined
  validateHeaderName(name)
  const line = { value: '', text: `${name}: \r\n` }
  lines.set(name, line)
  return line
}
