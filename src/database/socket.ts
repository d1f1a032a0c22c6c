// The way around a fault of postgres.js 3.4.9: when a connection breaks with an error, a query that is sent between that
// error and the end of the socket is never settled, for only an end without error is taken to concern it. A pool's
// connections are lost to such queries one by one.

import net from 'node:net'

/** What postgres.js knows of a server when it asks for a socket. */
export interface Target {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | (() => string)
}

let attempts = 0

/** For postgres.js's options, whose types leave it out. */
export const socketOption = { socket: createSocket }

/**
 * A socket for postgres.js that is on its way to the server and always ends as if without an error; the error
 * itself has been told by then. It takes the hosts of the URL in turn.
 */
export function createSocket({ host, port, path }: Target): net.Socket {
  const turn = attempts++ % host.length
  const socket =
    typeof path === 'string' && path !== '' ? net.connect(path) : net.connect(port[turn] ?? 5432, host[turn])
  const emit = socket.emit.bind(socket)
  socket.emit = (event: string, ...args: unknown[]) => emit(event, ...(event === 'close' ? [false] : args))
  // postgres.js reads the name for TLS from here.
  return Object.assign(socket, { host: host[turn], port: port[turn] })
}
