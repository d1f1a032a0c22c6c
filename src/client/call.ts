// The types of a call: what an operation is given, and what it resolves with.

import type { RequestBodyOption } from 'openapi-fetch'
import type { CallOptions } from './client.js'

/** What an operation takes: its parameters by where they stand, and its body. An int64 is a bigint. */
export type RequestOf<Operation, Body> = (Operation extends { parameters: infer Parameters }
  ? Parameters
  : unknown) &
  Body &
  CallOptions

/** A body as it is sent: fields of these names have a default, and may be left out. */
export type Unfilled<Body, Names extends PropertyKey> = Body extends readonly unknown[]
  ? { [Index in keyof Body]: Unfilled<Body[Index], Names> }
  : Body extends Uint8Array | Blob
    ? Body
    : Body extends object
      ? { [Name in keyof Body as Name extends Names ? never : Name]: Unfilled<Body[Name], Names> } & {
          [Name in keyof Body as Name extends Names ? Name : never]?: Unfilled<Body[Name], Names>
        }
      : Body

/** An optional argument, where nothing in it is required. */
export type Arguments<Request> = object extends Request ? [request?: Request] : [request: Request]

/** What a call resolves with: the body, and the whole answer for its headers and status. */
export interface Answer<Data> {
  readonly data: Data
  readonly response: Response
}

/** Calls one operation. Rejects with an ApiError, and with nothing else. `Body`: where it is another than JSON. */
export type Call<Operation, Data, Body = RequestBodyOption<Operation>> = (
  ...args: Arguments<RequestOf<Operation, Body>>
) => Promise<Answer<Data>>
