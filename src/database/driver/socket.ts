// The way around three faults of postgres.js 3.4.9. When a connection breaks with an error, a query that is sent between that
// error and the end of the socket is never settled, for only an end without error is taken to concern it. And its connect_timeout covers
// all of the way to the first answer, which over TLS may take several round trips: where packets vanish, the first of them should tell.
// And to a server that takes no TLS it goes on talking TLS, until that hangs up.

import net from 'node:net'
import { afterReading } from '../../lib/after-reading.js'

/** What postgres.js knows of a server when it asks for a socket. */
export interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | (() => string)
  readonly ssl?: unknown
}

// A SYN that got no answer is sent again after a second, then after two more: a new attempt notices the network's return sooner.
const connectTimeoutMs = 800

/** For postgres.js's options, whose types leave it out. */
export const socketOption = { socket: createSocket }

/**
 * A socket for postgres.js that is on its way to the server, gives up where there is no answer in time, and always ends as if
 * without an error; the error itself has been told by then.
 */
export function createSocket({ host, port, path, ssl }: Target): net.Socket {
  const [name = ''] = host
  const file = path || (name.startsWith('/') && `${name}/.s.PGSQL.${port[0]}`)
  const socket = typeof file === 'string' ? net.connect(file) : net.connect(port[0] ?? 5432, name)
  let timer: NodeJS.Timeout | undefined
  const giveUp = () => {
    if (socket.connecting) socket.destroy(timedOut(name))
  }
  const startTimer = () => {
    // A starved process finds its timers due before it has heard of its connections.
    timer = setTimeout(() => afterReading(giveUp), connectTimeoutMs)
  }
  if (net.isIP(name) !== 0) startTimer()
  const emit = socket.emit.bind(socket)
  // Not by listeners: postgres.js removes them all.
  socket.emit = (event: string, ...args: unknown[]) => {
    if (event === 'lookup' && timer === undefined) startTimer() // a name may take its time
    if (event === 'connect' || event === 'close') clearTimeout(timer)
    if (event === 'data' && isTlsRequired(ssl) && isNo(args[0]))
      return Boolean(socket.destroy(tlsRefused(name)))
    return emit(event, ...(event === 'close' ? [false] : args))
  }
  // postgres.js reads the name for TLS from here.
  return Object.assign(socket, { host: name, port: port[0] })
}

// `prefer` and `allow` do without.
function isTlsRequired(ssl: unknown): boolean {
  return ssl === 'require' || typeof ssl === 'object'
}

// What a server says to an SSLRequest, or nothing of it: after a Yes, TLS reads past this socket.
function isNo(data: unknown): boolean {
  return data instanceof Uint8Array && data.length === 1 && data[0] === 'N'.charCodeAt(0)
}

function tlsRefused(host: string): Error {
  return Object.assign(new Error(`${host} takes no TLS`), { code: 'TLS_REFUSED' })
}

function timedOut(host: string): Error {
  return Object.assign(new Error(`no connection to ${host} within ${connectTimeoutMs} ms`), {
    code: 'ETIMEDOUT',
  })
}
