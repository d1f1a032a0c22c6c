// The requests of webhooks and callbacks. For each there is a typed function that validates what the service
// is about to send, and signs it, and another function that reads the receiver's response. The application
// sends the request, and repeats it.

import { stringify } from 'lossless-json'
import type { Contract, Header, Response, SentRequest } from '../../document/contract.js'
import { headerText, isToken } from '../../lib/field-values.js'
import { createResponseChecks, type ResponseCheck, ResponseError } from '../response/response-validation.js'
import { type Asked, urlOf } from './callback-url.js'
import { createResponseReaders, type ReadResponse } from './receiver-response.js'
import { type Signing, signatureOf } from './signature.js'

/** A request to send: the second argument of `fetch`. */
export interface OutgoingRequest {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string
}

/** The values of a request: its headers, and its body. */
interface Values {
  readonly headers?: object | undefined
  readonly body?: unknown
}

/** The types of a request, and of its receiver's response. */
type Exchange = { readonly request: unknown; readonly response: unknown }
type Exchanges<Names> = { readonly [Name in keyof Names]: Exchange }

/** The functions for a request. */
export interface Outgoing<Each extends Exchange> {
  /**
   * Makes a request.
   * @param signing how it is signed, or `unsigned`
   * @throws {Error} naming the place, if the contract does not declare the values
   */
  (request: Each['request'], signing: Signing | 'unsigned'): OutgoingRequest
  /**
   * Reads the receiver's response.
   * @throws {Error} naming the place, if the contract does not declare the response
   */
  readonly readResponse: ReadResponse<Each['response']>
}

/** The types that `contract-engine generate` writes for the requests of callbacks, by operation. */
type Asking<Operations> = { readonly [Id in keyof Operations]: Exchanges<Operations[Id]> }

/**
 * Creates the functions for all requests, with the types that `contract-engine generate` writes. In its
 * result, only `Outgoing` is a type with a name, so the declarations of a project that exports the result
 * need no other name.
 * @throws {Error} naming a request whose schema cannot be compiled
 */
export function createOutgoing<
  Requests extends Exchanges<Requests> = Record<never, never>,
  Operations extends Asking<Operations> = Record<never, never>,
>(
  contract: Contract,
): {
  readonly webhooks: { readonly [Name in keyof Requests]: Outgoing<Requests[Name]> }
  readonly callbacks: {
    readonly [Id in keyof Operations]: {
      readonly [Name in keyof Operations[Id]]: Outgoing<Operations[Id][Name]> & {
        /** Returns the URL that a request of the operation gave; undefined if it is no HTTP URL. */
        urlOf(request: {
          readonly params: unknown
          readonly query: unknown
          readonly headers: unknown
          readonly body: unknown
        }): URL | undefined
      }
    }
  }
} {
  const functions = contract.functions()
  const checkOf = createResponseChecks(functions)
  const readerOf = createResponseReaders(contract, functions)
  const makeOf = (request: SentRequest) => {
    const make = createMake(request, checkOf(declared(request), true))
    return Object.assign(make, { readResponse: readerOf(request) })
  }
  const callbackOf = (request: SentRequest) =>
    Object.assign(makeOf(request), { urlOf: (asked: Asked) => urlOf(request.url, asked) })
  const callbacks = [...contract.callbacks].map(([id, requests]) => [id, mapped(requests, callbackOf)])
  // The cast: the types are generated from the same contract.
  return {
    webhooks: mapped(contract.webhooks, makeOf),
    callbacks: Object.fromEntries(callbacks),
  } as ReturnType<typeof createOutgoing<Requests, Operations>>
}

function mapped<Made>(
  requests: ReadonlyMap<string, SentRequest>,
  make: (request: SentRequest) => Made,
): object {
  return Object.fromEntries([...requests].map(([name, request]) => [name, make(request)]))
}

// The service is the authority over what it sends. So, as in a response, it may send readOnly values, and
// must not send writeOnly values (JSON Schema Validation 2020-12, section 9.4).
const status = 200

function declared({ place, parameters, body }: SentRequest) {
  const headers = parameters.map((each): Header => ({ ...each, setByServer: false }))
  const key = String(status)
  const response: Response = { status: key, key, headers, contents: body === undefined ? [] : [body] }
  return { id: place, responses: new Map([[key, response]]) }
}

type Make = (request: Values, signing: Signing | 'unsigned') => OutgoingRequest

function createMake({ place, method, body: declaredBody }: SentRequest, check: ResponseCheck): Make {
  const { mediaType = '', required = false } = declaredBody ?? {}
  return ({ headers: given = {}, body: value }, signing) => {
    const headers = textsOf(place, given)
    try {
      check.head(status, (name) => headers[name])
    } catch (error) {
      throw error instanceof ResponseError ? new Error(`${place}: ${error.problem}`) : error
    }
    if (value === undefined && required) throw new Error(`${place}: the body is missing`)
    const fault = value === undefined ? undefined : check.fault(status, value)
    if (fault !== undefined) throw new Error(`${place}: ${fault.problem}`)
    const body = value === undefined ? undefined : stringify(value)
    return {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-type': mediaType }),
        ...(signing !== 'unsigned' && signatureOf(body ?? '', signing)),
      },
      ...(body !== undefined && { body }),
    }
  }
}

function textsOf(place: string, headers: object): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name.toLowerCase(), checkedHeader(place, name, value)]),
  )
}

// Not every HTTP client refuses characters that would end a header and begin another.
function checkedHeader(place: string, name: string, value: unknown): string {
  if (!isToken(name)) throw new Error(`${place}: header ${JSON.stringify(name)} is no name of a header`)
  const text = headerText(value)
  if (text !== undefined) return text
  throw new Error(`${place}: header ${name} has characters that HTTP does not allow`)
}
