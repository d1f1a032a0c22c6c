// Connections of HTTP/1.1, beyond what Node does with them. Each state of a connection has an owner, which
// ends it:
//
//   no whole head yet             Node's headersTimeout (408); while the server closes, closeWithoutRequest
//   idle after a response         Node's keepAliveTimeout; while the server closes, the same
//   a body is arriving            the Lifetime of the request (408)
//   the request has arrived       the same (503)
//   the response is not read      Node's connectionTimeout
//   the last response is sent     lingeringClose
//
// At most one request of a connection is in flight (pipelining.ts).

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { lingeringClose } from 'contract-engine/lib/connection'
import { afterReading } from '../lib/clock.js'
import { requestOn } from './pipelining.js'

/** Installs the server's connection listeners. Returns the open connections. */
export function watchConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Node reads the address once, while the socket is connected. Without one the peer has reset the
    // connection: its requests could be neither counted nor responded to.
    if (socket.remoteAddress === undefined) socket.destroy()
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // Node calls this after the last response.
    socket.destroySoon = () => lingeringClose(socket)
  })
  // Node's `close` would end idle connections at once, and with them requests that it has not read. Node 26
  // also ends new connections, Node 20 not.
  server.closeIdleConnections = () => {}
  // A peer may close its half after the request (RFC 9112, section 9.6). Node would run the request and not
  // respond. The option is missing from its types.
  Object.assign(server, { httpAllowHalfOpen: true })
  // RFC 9110, section 10.1.1: send 100 when the body is first read. A request that is refused before then
  // gets the final response instead, and its client uploads nothing.
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

/**
 * How many connections the kernel makes that are not accepted yet, if its own limit allows: with fewer (Node's
 * default: 511), callers in a burst would retry for seconds. Not `maxConnections`: those beyond it would wait
 * for a minute, connected as they see it, where they are closed at once and counted.
 */
export const backlog = 10_000

/**
 * Resolves when all connections that the kernel has made are accepted. Those that are not when a server stops
 * listening are reset, and libuv accepts one in each turn of the event loop: a burst takes as many turns. No
 * more are waited for than `maxConnections`, beyond which they are refused: a flood does not keep it open.
 */
export async function acceptAll(server: Server): Promise<void> {
  let accepted = 0
  const noteConnection = () => {
    accepted++
  }
  server.on('connection', noteConnection)
  server.on('drop', noteConnection)
  await nextTurn() // to its end, behind what this turn reads
  for (let before = -1; accepted > before && accepted <= server.maxConnections; ) {
    before = accepted
    await nextTurn()
  }
  server.off('connection', noteConnection)
  server.off('drop', noteConnection)
}

/** How long a request may take to begin while the server closes. */
export const beginMs = 100

/**
 * Closes connections on which no request begins, until stopped: new ones, idle ones, and those that have sent
 * a part of a head. While it closes, Node checks no time limits: one byte on a connection would make a
 * shutdown take all of `SHUTDOWN_TIMEOUT_MS`.
 */
export function closeWithoutRequest(open: ReadonlySet<Socket>): { stop(): void } {
  const withoutRequest = () =>
    new Set([...open].filter((socket) => socket.writable && requestOn(socket) === undefined))
  let waiting = withoutRequest()
  const close = () => {
    const still = withoutRequest()
    for (const socket of still) if (waiting.has(socket)) socket.destroy()
    waiting = still
  }
  // In a busy process, bytes may have arrived and not been read yet.
  const timer = setInterval(() => afterReading(close), beginMs)
  return { stop: () => clearInterval(timer) }
}
