// The response of an error. Any operation can fail with an error that it does not declare, or declares in
// another form. The server sends the real error even then, since it helps the caller more than a 500.

import type { FastifyBaseLogger, FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { ownErrorStatuses } from '../../document/defaults.js'
import { ownError, type RequestError } from '../../document/request-error.js'
import { type Mounted, mountedAt, mountedBelow } from '../paths/mounted.js'
import { hasRoute } from '../paths/not-found.js'
import { factsOf, statusOf, toRequestError } from '../request/errors.js'
import { withAbsoluteLinks } from './absolute-links.js'
import {
  type ErrorBodyOf,
  type ErrorForm,
  type ErrorResponse,
  errorForms,
  errorText,
  plainError,
} from './error-forms.js'
import { addHeaders } from './list-headers.js'
import { toSend } from './response-serialization.js'
import { type ResponseCheck, ResponseError } from './response-validation.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The contract of an operation. */
    mounted?: Mounted
    /** The form of an operation's errors. */
    errorForm?: ErrorForm | undefined
  }
}

/** Responds to a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

export interface ErrorHandlerOptions {
  /**
   * Makes the bodies of errors, if the contract has a form other than the engine's. Give it to `mount`, too.
   */
  readonly errorBody?: ErrorBodyOf | undefined
  /** Returns false for a request whose 5xx is expected, such as one that was shed. */
  readonly isLogged?: (request: FastifyRequest) => boolean
}

/**
 * Creates the handler of errors, for `setErrorHandler` and for Fastify's option `frameworkErrors`: for a
 * malformed URL, Fastify runs neither hooks nor the error handler. The handler responds with a body in the
 * form that the contract declares, and logs the cause of a 5xx. A path below the prefix of another contract
 * of the application gets the form of that contract.
 */
export function errorHandler(
  contract: Contract,
  { errorBody, isLogged = () => true }: ErrorHandlerOptions = {},
): ErrorHandler {
  const formOf = createFormOf(contract, errorBody)
  return (error, request, reply) => {
    if (reply.sent) return // a timeout may have responded
    // Read from the route itself: a request may be refused before the hooks of its route.
    const config: FastifyContextConfig = hasRoute(request) ? request.routeOptions.config : {}
    const form = formOf(config.mounted ?? mountedBelow(request))
    const refusal = toRequestError(error, form.contract)
    if (isLogged(request)) logCause(request, refusal, form.contract)
    sendError(request, reply, refusal, { ...form, config })
  }
}

/** A contract, and the form of its errors that belong to no operation. */
interface DocumentForm {
  readonly contract: Contract
  readonly ofDocument: ErrorForm
}

// For its own contract, the error handler uses the `errorBody` that it was given itself, whatever `mount` was
// given.
function createFormOf(contract: Contract, errorBody: ErrorBodyOf | undefined) {
  const own = documentForm({ contract, errorBody })
  return (mounted: Mounted | undefined): DocumentForm =>
    mounted === undefined || mounted.contract === contract ? own : documentForm(mounted)
}

function documentForm({ contract, errorBody }: Mounted): DocumentForm {
  return { contract, ofDocument: errorForms(contract, errorBody).ofDocument }
}

/** An error in the form in which it is sent. */
export interface SentError {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** An error that Node has found in the bytes of a connection, before there is a request. */
export interface Unrequested {
  readonly requestId: string
  readonly log: Log
  /** The server of the connection, by which the contracts of the application are found. */
  readonly server?: object | undefined
}

/**
 * Creates the function that makes the responses of errors below Fastify, such as malformed HTTP. If the bytes
 * begin with a request line whose path belongs to another contract, the responses have the form of that
 * contract.
 */
export function errorResponses(
  contract: Contract,
  errorBody?: ErrorBodyOf,
): (error: RequestError, request: Unrequested) => SentError {
  const formOf = createFormOf(contract, errorBody)
  return (error, { requestId, log, server }) => {
    const mounted = server === undefined ? undefined : mountedAt(server, targetIn(error.options.cause))
    const form = formOf(mounted)
    const facts = factsOf(error, form.contract, { requestId, operation: undefined })
    return asSent(responseOf(facts, form.ofDocument, log))
  }
}

// Long enough for the prefix of a contract.
const targetMax = 2_048

// Node passes on the bytes in which it has found an error of HTTP.
function targetIn(cause: unknown): string {
  const { rawPacket } = Object(cause) as { rawPacket?: unknown }
  if (!(rawPacket instanceof Uint8Array)) return ''
  const text = Buffer.from(rawPacket.subarray(0, targetMax)).toString('latin1')
  return /^[A-Z-]+ (\S+)/.exec(text)?.[1] ?? ''
}

type Log = Pick<FastifyBaseLogger, 'error'>

function asSent(response: ErrorResponse): SentError {
  const { status, type } = response
  return { status, contentType: `${type}; charset=utf-8`, text: errorText(response) }
}

// If the error handler itself threw, Fastify would send the message to the client.
function responseOf(facts: ReturnType<typeof factsOf>, form: ErrorForm, log: Log): ErrorResponse {
  try {
    return form(facts)
  } catch (err) {
    log.error({ err }, 'errorBody failed')
    return plainError(facts)
  }
}

function logCause({ log }: FastifyRequest, error: RequestError, contract: Contract): void {
  if (error.code === 'not_implemented') log.warn({ reason: error.message }, 'not implemented')
  else if (statusOf(error, contract) >= 500)
    log.error({ err: error.options.cause ?? error }, 'request failed')
}

// The headers of a declared error are validated as those of any response: if they are wrong, the client gets
// a 500, and the log has the reason.
function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: RequestError,
  { contract, ofDocument, config }: DocumentForm & { readonly config: FastifyContextConfig },
): void {
  const { address, deprecation, responseCheck, errorForm = ofDocument } = config
  if (deprecation) addHeaders(reply, deprecation(request))
  const headers = address ? withAbsoluteLinks(error.headers, request, address) : error.headers
  const about = { requestId: request.id, operation: config.operation?.id }
  const respond = (each: RequestError) => responseOf(factsOf(each, contract, about), errorForm, request.log)
  const response = respond(error)
  if (!response.isDeclared) {
    if (config.operation !== undefined && isOfHandler(error))
      request.log.warn({ reason: `${response.status} ${error.code}` }, 'not declared by the contract')
    send(reply, headers, response)
    return
  }
  const problem = headProblem(reply, headers, response, responseCheck)
  if (problem === undefined) send(reply, headers, response)
  else {
    request.log.error({ err: problem }, 'request failed')
    send(reply, {}, respond(ownError('internal_error', problem.message)))
  }
}

// The contract gives the status of a handler's error. A part of the server gives the status itself.
function isOfHandler({ code, options }: RequestError): boolean {
  return options.status === undefined && !(code in ownErrorStatuses)
}

function headProblem(
  reply: FastifyReply,
  headers: RequestError['headers'],
  { status }: ErrorResponse,
  check: ResponseCheck | undefined,
): ResponseError | undefined {
  const own = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  try {
    check?.head(status, (name) => own.get(name) ?? reply.getHeader(name))
    return undefined
  } catch (error) {
    if (error instanceof ResponseError) return error
    throw error
  }
}

// Sent as text: a serializer of the operation's schema could leave fields out.
function send(reply: FastifyReply, headers: RequestError['headers'], response: ErrorResponse): void {
  const { status, contentType, text } = asSent(response)
  const textOrBytes = toSend(text, headers)
  addHeaders(reply, headers)
  void reply.type(contentType).code(status).send(textOrBytes)
}
