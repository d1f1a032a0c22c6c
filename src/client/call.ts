// The types of a call: its arguments and its result.

import type { RequestBodyOption } from 'openapi-fetch'

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call, at any point. */
  readonly signal?: AbortSignal
}

/** The request of an operation: its parameters by location, and its body. An int64 is a bigint. */
export type RequestOf<Operation, Body> = (Operation extends { parameters: infer Parameters }
  ? Parameters
  : unknown) &
  Body &
  CallOptions

/** A request body in which the fields with these names are optional, because they have a default. */
export type Unfilled<Body, Names extends PropertyKey> = Body extends readonly unknown[]
  ? { [Index in keyof Body]: Unfilled<Body[Index], Names> }
  : Body extends Uint8Array | Blob
    ? Body
    : Body extends object
      ? { [Name in keyof Body as Name extends Names ? never : Name]: Unfilled<Body[Name], Names> } & {
          [Name in keyof Body as Name extends Names ? Name : never]?: Unfilled<Body[Name], Names>
        }
      : Body

/** The arguments of a call: the request is optional if nothing in it is required. */
export type Arguments<Request> = object extends Request ? [request?: Request] : [request: Request]

/** The result of a call: the decoded body, and the response with its status and headers. */
export interface CallResult<Data> {
  readonly data: Data
  readonly response: Response
}

/** Calls an operation. Rejects only with an ApiError. `Body` is given if the request body is not plain JSON. */
export type Call<Operation, Data, Body = RequestBodyOption<Operation>> = (
  ...args: Arguments<RequestOf<Operation, Body>>
) => Promise<CallResult<Data>>
