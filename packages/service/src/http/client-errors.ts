// Errors below Fastify, which has no request of them: the engine responds, as the service does. A client
// that sends malformed HTTP would otherwise get no error body.

import type { Socket } from 'node:net'
import { type Contract, clientErrorHandler, type ErrorBodyOf } from 'contract-engine'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.js'
import { readAddress } from '../lib/address.js'
import { afterReading } from '../lib/clock.js'
import type { Lifetimes } from './lifetime.js'
import { requestOn } from './pipelining.js'

export interface ClientErrorParts {
  readonly contract: Contract
  readonly lifetimes: Lifetimes
  readonly config: Pick<Config, 'isAddressLogged'>
  readonly headers: Readonly<Record<string, string>>
  readonly errorBody: ErrorBodyOf | undefined
}

/** Creates the handler of Node's `clientError` event, as Fastify calls it. */
export function createClientErrorHandler({
  contract,
  lifetimes,
  config,
  headers,
  errorBody,
}: ClientErrorParts): (this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket) => void {
  const respond = clientErrorHandler(contract, {
    errorBody,
    headers: (requestId) => ({ ...headers, 'X-Request-Id': requestId }),
    logged: ({ remoteAddress }) => (config.isAddressLogged ? { address: readAddress(remoteAddress) } : {}),
    failArriving: (socket, fault) => {
      const arriving = lifetimes.incompleteOn(socket)
      arriving?.fail(fault)
      return arriving !== undefined
    },
  })
  return function handle(error, socket) {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') respond.call(this, error, socket)
    else
      afterReading(() => {
        // Node checks its timers before it reads what arrived while the process was busy.
        if (requestOn(socket) === undefined) respond.call(this, error, socket)
      })
  }
}
