// Works around three faults of postgres.js 3.4.9:
// - A query sent between a socket's 'error' and its 'close' never settles. Only a close without an error
//   rejects it.
// - connect_timeout covers everything up to the first response, several round trips over TLS. Lost packets
//   should show at the first round trip.
// - When a server declines TLS, postgres.js goes on with the TLS handshake until the server hangs up.

import net from 'node:net'
import { afterReading } from '../../lib/clock.js'
import { refreshAll } from '../from-files.js'
import { codedError } from '../unavailable.js'

/** The options that postgres.js passes when it opens a socket. */
export interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | (() => string)
  readonly ssl?: unknown
  readonly pass?: unknown
}

// Below TCP's one second before it resends a SYN, then two more: a new attempt gets through sooner.
const connectTimeoutMs = 800

/** The option `socket` of postgres.js, which its types leave out. */
export const socketOption = { socket: createSocket }

/**
 * Opens a socket for postgres.js. It fails if it does not connect in time, and its 'close' never reports an
 * error, because 'error' already has. Reads the files of certificates and passwords here, where postgres.js
 * catches an error; in the options of TLS or in a password's function it does not.
 */
export function createSocket({ host, port, path, ssl, pass }: Target): net.Socket {
  refreshAll([ssl, pass])
  const [name = ''] = host
  const file = path || (name.startsWith('/') && `${name}/.s.PGSQL.${port[0]}`)
  const socket = typeof file === 'string' ? net.connect(file) : net.connect(port[0] ?? 5432, name)
  const onevent = connectTimer(socket, name)
  const emit = socket.emit.bind(socket)
  // Override `emit` rather than add listeners: postgres.js removes all listeners.
  socket.emit = (event: string, ...args: unknown[]) => {
    onevent(event)
    if (event === 'data' && isTlsRequired(ssl) && isTlsDeclined(args[0])) {
      const message = `${name} does not support TLS, but sslmode requires it`
      return Boolean(socket.destroy(codedError('TLS_REFUSED', message)))
    }
    return emit(event, ...(event === 'close' ? [false] : args))
  }
  // postgres.js reads the server name for TLS from here.
  return Object.assign(socket, { host: name, port: port[0] })
}

// Destroys the socket unless it connects in time. Returns a function to call with the socket's events.
function connectTimer(socket: net.Socket, name: string): (event: string) => void {
  const checkConnected = () => {
    const message = `no connection to ${name} within ${connectTimeoutMs} ms`
    if (socket.connecting) socket.destroy(codedError('ETIMEDOUT', message))
  }
  // In a starved process the timer fires before Node reads the event of the connection.
  const start = () => setTimeout(() => afterReading(checkConnected), connectTimeoutMs)
  let timer = net.isIP(name) === 0 ? undefined : start()
  return (event) => {
    if (event === 'lookup') timer ??= start() // DNS may take longer
    if (event === 'connect' || event === 'close') clearTimeout(timer)
  }
}

// With `prefer` and `allow`, the connection may go on without TLS.
function isTlsRequired(ssl: unknown): boolean {
  return ssl === 'require' || typeof ssl === 'object'
}

// PostgreSQL's reply to an SSLRequest is one byte, S or N. After S, TLS reads from the handle: no 'data'.
function isTlsDeclined(data: unknown): boolean {
  return data instanceof Uint8Array && data.length === 1 && data[0] === 'N'.charCodeAt(0)
}
