// The types of a handler: a function from a request of the contract to one of the declared responses. It sees
// no Fastify. Write its return type out, `Promise<Response<'getPet'>>`: if TypeScript infers the type, it
// allows fields and headers that the contract does not declare.

import { RequestError } from 'contract-engine'
import type { ContextOf, HandlersOf } from 'contract-service'
import * as service from 'contract-service'
import type { ErrorCode, OperationId, Operations } from '../../generated/operations.js'
import type { Services } from '../services.js'

export { notImplemented } from 'contract-engine'

/** An expected failure: an error code of the contract, and a message for the client. */
export class ApiError extends RequestError<ErrorCode> {}

/** Throws an error code of the contract for a row that a constraint refused. */
export const onConstraint = service.onConstraint<ErrorCode>

/** The request of an operation: its parameters by location, and its body. */
export type Request<Id extends OperationId> = Operations[Id]['request']

/** The declared responses of an operation. */
export type Response<Id extends OperationId> = Operations[Id]['response']

/**
 * The second argument of a handler: `Context<'getPet'>`, or `Context` for what all operations have.
 */
export type Context<Id extends OperationId = OperationId> = ContextOf<Operations[Id], Services>

/** A handler for every operation of the contract. It throws ApiError for expected failures. */
export type Handlers = HandlersOf<Operations, Services>
