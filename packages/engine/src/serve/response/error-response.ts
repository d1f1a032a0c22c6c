// The response of an error. Any operation can fail with any error, including one that it does not declare, or
// declares otherwise: then the real error helps the caller more than a 500, and is sent as it is.

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
    /** Of an operation: its contract. */
    mounted?: Mounted
    /** The form of an operation's errors. */
    errorForm?: ErrorForm | undefined
  }
}

/** Responds to a request with an error. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

export interface ErrorHandlerOptions {
  /** Makes the bodies, if the contract has another form for them than the engine: give it to `mount`, too. */
  readonly errorBody?: ErrorBodyOf | undefined
  /** False for a request whose 5xx is expected: one that is shed, say. */
  readonly isLogged?: (request: FastifyRequest) => boolean
}

/**
 * Creates the handler of errors, for `setErrorHandler` and, because Fastify runs neither hooks nor the error
 * handler for a malformed URL, for its option `frameworkErrors`. It responds with a body of the form that the
 * contract declares, and logs the cause of a 5xx. What is below the prefix of another contract of the
 * application gets the form of that one.
 */
export function errorHandler(
  contract: Contract,
  { errorBody, isLogged = () => true }: ErrorHandlerOptions = {},
): ErrorHandler {
  const formOf = createFormOf(contract, errorBody)
  return (error, request, reply) => {
    if (reply.sent) return // such as one that timed out
    // That of its operation: a request may be refused before the hooks of its route.
    const config: FastifyContextConfig = hasRoute(request) ? request.routeOptions.config : {}
    const form = formOf(config.mounted ?? mountedBelow(request))
    const refusal = toRequestError(error, form.contract)
    if (isLogged(request)) logCause(request, refusal, form.contract)
    sendError(request, reply, refusal, { ...form, config })
  }
}

/** A contract, and the form of its errors that are of no operation. */
interface DocumentForm {
  readonly contract: Contract
  readonly ofDocument: ErrorForm
}

// What an application gives to its handler of errors counts for the contract of that, whatever `mount` has
// got.
function createFormOf(contract: Contract, errorBody: ErrorBodyOf | undefined) {
  const own = documentForm({ contract, errorBody })
  return (mounted: Mounted | undefined): DocumentForm =>
    mounted === undefined || mounted.contract === contract ? own : documentForm(mounted)
}

function documentForm({ contract, errorBody }: Mounted): DocumentForm {
  return { contract, ofDocument: errorForms(contract, errorBody).ofDocument }
}

/** An error as it is sent. */
export interface SentError {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** What has no request: an error that Node has found in what it received, and of which server. */
export interface Unrequested {
  readonly requestId: string
  readonly log: Log
  /** That of the connection: it says which contracts the application has. */
  readonly server?: object | undefined
}

/**
 * Creates what makes the responses of errors below Fastify, such as malformed HTTP: in the form of the
 * contract whose path they name, if they begin with a request line, else in that of this one.
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

// Enough of it for the prefix of a contract.
const targetMax = 2_048

// Node hands over the bytes in which it has found an error of HTTP.
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

// Fastify would respond to an error of its error handler with the message.
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

// An error that the contract declares is validated like any response: if its headers are not as declared, the
// client gets a 500, and the log has the reason.
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

// The statuses of a handler's errors are the contract's. A part of the server names that of its own.
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

// As text: the schema that the operation declares may not have every field.
function send(reply: FastifyReply, headers: RequestError['headers'], response: ErrorResponse): void {
  const { status, contentType, text } = asSent(response)
  const textOrBytes = toSend(text, headers)
  addHeaders(reply, headers)
  void reply.type(contentType).code(status).send(textOrBytes)
}
