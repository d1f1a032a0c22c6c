// Works around three faults of postgres.js 3.4.9:
// - A query sent between a socket's 'error' and its 'close' never settles: only a close without one rejects
//   it.
// - connect_timeout covers all up to the first response, over TLS several round trips. Lost packets should
//   show at the first.
// - When a server declines TLS, postgres.js goes on with the TLS handshake until the server hangs up.

import net from 'node:net'
import { afterReading } from '../../lib/clock.js'
import { refreshAll } from '../from-files.js'
import { codedError } from '../unavailable.js'

/** What postgres.js passes when it opens a socket. */
export interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | (() => string)
  readonly ssl?: unknown
  readonly pass?: unknown
}

// TCP resends a SYN after one second, then after two more: a new attempt notices sooner that it would work.
const connectTimeoutMs = 800

/** An option of postgres.js that its types leave out. */
export const socketOption = { socket: createSocket }

/**
 * Opens a socket for postgres.js that fails when it does not connect in time, and always closes as if without
 * an error; 'error' has reported the error by then. Reads the files of its options: postgres.js catches an
 * error here, but neither one of TLS's options nor one of a password's function.
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

// Destroys the socket unless it connects in time. Returns what to call with its events.
function connectTimer(socket: net.Socket, name: string): (event: string) => void {
  const checkConnected = () => {
    const message = `no connection to ${name} within ${connectTimeoutMs} ms`
    if (socket.connecting) socket.destroy(codedError('ETIMEDOUT', message))
  }
  // In a starved process timers are due before the connection's event is read.
  const start = () => setTimeout(() => afterReading(checkConnected), connectTimeoutMs)
  let timer = net.isIP(name) === 0 ? undefined : start()
  return (event) => {
    if (event === 'lookup') timer ??= start() // DNS may take longer
    if (event === 'connect' || event === 'close') clearTimeout(timer)
  }
}

// With `prefer` and `allow` the connection goes on without TLS.
function isTlsRequired(ssl: unknown): boolean {
  return ssl === 'require' || typeof ssl === 'object'
}

// PostgreSQL's reply to an SSLRequest is one byte, S or N. After S, TLS reads from the handle: no 'data'.
function isTlsDeclined(data: unknown): boolean {
  return data instanceof Uint8Array && data.length === 1 && data[0] === 'N'.charCodeAt(0)
}
