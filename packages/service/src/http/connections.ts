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
    // Node reads the address once, while the socket is connected. Without an address the peer has reset the
    // connection, so the service could neither count its requests nor respond.
    if (socket.remoteAddress === undefined) socket.destroy()
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // Node calls this after the last response.
    socket.destroySoon = () => lingeringClose(socket)
  })
  // Node's `close` would end idle connections at once, together with requests that it has not read yet. Node
  // 26 also ends new connections; Node 20 does not.
  server.closeIdleConnections = () => {}
  // A peer may close its half after the request (RFC 9112, section 9.6). By default, Node would run the
  // request and not respond. The types lack the option.
  Object.assign(server, { httpAllowHalfOpen: true })
  // RFC 9110, section 10.1.1: send 100 when the body is first read. A request refused before that gets the
  // final response, and its client uploads nothing.
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
 * How many connections the kernel may hold for the server to accept, within the kernel's own limit. With
 * fewer (Node's default is 511), callers in a burst would retry for seconds. With `maxConnections`, callers
 * beyond it would see a connection and wait for a minute; so they are closed at once, and counted.
 */
export const backlog = 10_000

/**
 * Resolves when the server has accepted all connections that the kernel holds: when a server stops listening,
 * the kernel resets the others. libuv accepts one connection in each turn of the event loop, so a burst takes
 * as many turns. Waits for at most `maxConnections`, so that a flood cannot keep the server open.
 */
export async function acceptAll(server: Server): Promise<void> {
  let accepted = 0
  const noteConnection = () => {
    accepted++
  }
  server.on('connection', noteConnection)
  server.on('drop', noteConnection)
  await nextTurn() // behind everything that this turn reads
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
 * Until stopped, closes connections on which no request begins: new ones, idle ones, and those that have sent
 * a part of a head. Node checks no time limits while a server closes, so one byte on a connection would make
 * a shutdown take all of `SHUTDOWN_TIMEOUT_MS`.
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
  // `afterReading`, because in a busy process bytes may have arrived that Node has not read yet.
  const timer = setInterval(() => afterReading(close), beginMs)
  return { stop: () => clearInterval(timer) }
}
