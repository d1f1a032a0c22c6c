// What a connection owes its client beyond a request and its answer: half of it may be closed, a body may be announced and
// never sent, an answer may come before the body has.

import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterReading } from '../lib/after-reading.js'

// To read on after the last answer: a socket that is closed with bytes unread resets the connection, and a client
// that still sends would lose the answer with it (RFC 9112, section 9.6).
const lingerMs = 1_000

/** Has the server keep to that, on every connection; gives those that are open. */
export function watchConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Node finds an address out while there is a connection, and remembers it. Without one it was reset before it was accepted, and nobody
    // is there to be counted, or answered, whatever has come on it.
    if (socket.remoteAddress === undefined) socket.destroy()
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  // A client may end its half once it has asked (RFC 9112, section 9.6). Node would do what it asks and not answer.
  // Its types leave this out.
  Object.assign(server, { httpAllowHalfOpen: true })
  // RFC 9110, section 10.1.1: 100 asks for the body, so it waits until somebody reads one. Whatever refuses the
  // request before then is the answer instead.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
  // RFC 9110, section 10.1.1: an expectation that nobody knows may be ignored. Node's own answer has no body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return open
}

/** How long a connection may be silent as the server closes. */
export const unusedMs = 100

/**
 * Closes connections on which nothing has ever come, until it is stopped: Node does not count them as idle, and they would hold
 * a stop up. One that is just being opened has a moment to speak.
 */
export function closeUnusedConnections(open: ReadonlySet<Socket>): { stop(): void } {
  let silent: Socket[] = []
  const closeThem = () => {
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy()
    silent = [...open].filter(({ bytesRead }) => bytesRead === 0)
  }
  // In a busy process, what has come may wait to be read.
  const timer = setInterval(() => afterReading(closeThem), unusedMs)
  return { stop: () => clearInterval(timer) }
}

const lastRequests = new WeakMap<Socket, IncomingMessage>()

/** Makes a request the last of its connection: whoever passed it on may have seen another request in it. */
export function closeAfter(request: IncomingMessage): void {
  if (!lastRequests.has(request.socket)) lastRequests.set(request.socket, request)
}

/**
 * Whether a request follows one that was to be the last: it may be no request at all, and is not to be done. Node hands over
 * what it reads, answered or not.
 */
export function followsLastRequest(request: IncomingMessage): boolean {
  const last = lastRequests.get(request.socket)
  return last !== undefined && last !== request
}

// RFC 9112, section 6.3: a request that announces no body has none.
function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined)
}

/**
 * Whether the connection has to be closed with the answer to a request: it was made the last, or it is answered before all of
 * it has come. Where its rest ends, and the next request begins, nobody waits to find out.
 */
export function mustClose(request: IncomingMessage): boolean {
  const { socket } = request
  if (lastRequests.get(socket) === request) return true
  if (hasArrived(request) || !socket.writable) return false
  closeAfter(request)
  // Node calls it after the last answer.
  socket.destroySoon = () => lingeringClose(socket)
  return true
}

/**
 * Sends the last bytes of a connection, and leaves the client a moment to read them.
 * @param how whether what still comes is read and dropped, or left where it is
 */
export function lingeringClose(socket: Socket, bytes = '', how: 'reading' | 'deaf' = 'reading'): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(bytes)
  if (how === 'reading') socket.resume()
  else socket.pause()
}

/** Calls back when every request that came whole on a connection has its answer. */
export function afterResponses(socket: Socket, then: () => void): void {
  const current = currentAnswer(socket)
  if (current === undefined || !current.req.complete) then()
  else current.once('close', () => afterResponses(socket, then)) // by then, the next in line is the current one
}

/**
 * Calls back about a request that is late, unless it has come: Node looks at the clock before it reads what came while the process was
 * busy.
 */
export function ifStillIncomplete(socket: Socket, then: () => void): void {
  const before = currentAnswer(socket)
  const wasWhole = before?.req.complete
  afterReading(() => {
    const current = currentAnswer(socket)
    const hasCome = current?.req.complete === true && (current !== before || !wasWhole)
    if (!hasCome) then()
  })
}

/** Whether the answer to a request that is still coming is on its way. */
export function responseHasStarted(socket: Socket): boolean {
  return currentAnswer(socket)?.headersSent === true
}

// Node keeps the message at work on the socket, under a name that its own default handler uses and its types
// leave out.
function currentAnswer(socket: Socket): ServerResponse | undefined {
  const message = (socket as Socket & { _httpMessage?: unknown })._httpMessage
  return message instanceof ServerResponse ? message : undefined
}
