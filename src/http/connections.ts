// Details of HTTP/1.1 connections that Node leaves open: half-closed sockets, bodies that never arrive,
// responses before the end of the request.

import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterReading } from '../lib/after-reading.js'

// How long to keep reading after the last response. Closing a socket with unread bytes resets the connection,
// and a peer that is still sending would lose the response (RFC 9112, section 9.6).
const lingerMs = 1_000

/** Installs the server's connection listeners. Returns the open connections. */
export function watchConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Node reads the address once, while the socket is connected. Without one the peer has reset the
    // connection: its requests could be neither counted nor responded to.
    if (socket.remoteAddress === undefined) socket.destroy()
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  // A peer may close its half after the request (RFC 9112, section 9.6). Node would run the request and not
  // respond. The option is missing from its types.
  Object.assign(server, { httpAllowHalfOpen: true })
  // RFC 9110, section 10.1.1: send 100 when the body is first read. A request that is refused before then
  // gets the final response instead.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
  // RFC 9110, section 10.1.1: a server may ignore an unknown expectation. Node's own 417 would have no body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return open
}

/** How long a new connection may stay unused while the server closes. */
export const unusedMs = 100

/**
 * Closes connections that have never received a byte, until stopped. Node does not count them as idle, so
 * they would delay the shutdown. A new connection has `unusedMs` to send something.
 */
export function closeUnusedConnections(open: ReadonlySet<Socket>): { stop(): void } {
  let unused: Socket[] = []
  const closeUnused = () => {
    for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    unused = [...open].filter(({ bytesRead }) => bytesRead === 0)
  }
  // In a busy process, bytes may have arrived and not been read yet.
  const timer = setInterval(() => afterReading(closeUnused), unusedMs)
  return { stop: () => clearInterval(timer) }
}

const lastRequests = new WeakMap<Socket, IncomingMessage>()

/** Makes a request the last of its connection. */
export function closeAfter(request: IncomingMessage): void {
  const { socket } = request
  if (lastRequests.has(socket)) return
  lastRequests.set(socket, request)
  // Node calls this after the last response.
  socket.destroySoon = () => lingeringClose(socket)
}

/** Whether a connection's last request has arrived: what follows is discarded (RFC 9112, section 9.6). */
export function hasReceivedLast(socket: Socket): boolean {
  const last = lastRequests.get(socket)
  return last !== undefined && (last.complete || last.method === 'CONNECT')
}

/** Makes a request with `Upgrade` (RFC 9110, section 7.8) the last: Node drops the bytes behind it. */
export function closeAfterUpgrade(request: IncomingMessage): void {
  if (request.headers.upgrade !== undefined) closeAfter(request)
}

/** Whether the whole request has arrived. One without these headers has no body (RFC 9112, section 6.3). */
export function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined)
}

/**
 * Whether the connection must close after the response: the request was made the last, or has not arrived
 * completely. The rest of a request that has its response is not read, so the next one cannot be found.
 */
export function mustClose(request: IncomingMessage): boolean {
  const { socket } = request
  if (lastRequests.get(socket) === request) return true
  if (hasArrived(request) || !socket.writable) return false
  closeAfter(request)
  return true
}

/**
 * Sends the last bytes of a connection, and closes it after `lingerMs`, so that the peer can read them.
 * @param rest whether to discard what the peer still sends, or not to read it
 */
export function lingeringClose(socket: Socket, bytes = '', rest: 'discard' | 'unread' = 'discard'): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(bytes)
  if (rest === 'discard') socket.resume()
  else socket.pause()
}

/** Calls back when every complete request on a connection has its response. */
export function afterResponses(socket: Socket, then: () => void): void {
  const current = currentResponse(socket)
  if (current === undefined || !current.req.complete) then()
  // By then the next response in the pipeline is current.
  else current.once('close', () => afterResponses(socket, then))
}

/**
 * Calls back if a request that has timed out is still incomplete after the next read: Node checks its timers
 * before it reads what arrived while the process was busy.
 */
export function ifStillIncomplete(socket: Socket, then: () => void): void {
  const before = currentResponse(socket)
  const wasComplete = before?.req.complete
  afterReading(() => {
    const current = currentResponse(socket)
    const hasArrived = current?.req.complete === true && (current !== before || !wasComplete)
    if (!hasArrived) then()
  })
}

/** Whether the headers of the current response have been sent. */
export function responseHasStarted(socket: Socket): boolean {
  return currentResponse(socket)?.headersSent === true
}

/**
 * The response that is being written, or the first that will be; undefined if no request is in flight. Node's
 * default clientError handler uses this property of the socket too, which its types do not have.
 */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  const message = (socket as Socket & { _httpMessage?: unknown })._httpMessage
  return message instanceof ServerResponse ? message : undefined
}
