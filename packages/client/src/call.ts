// The types of a call: its arguments and its result.

import type { CredentialOptions, GivenCredentials } from './credentials.js'
import type { GivenHeaders } from './headers.js'
import type { RateLimit } from './rate-limit.js'
import type { ItemStream } from './stream.js'

/** Options of a single call, beside its credentials. */
interface CommonOptions {
  /** Aborts the call at any point. */
  readonly signal?: AbortSignal | undefined
  /** Headers of this call, in addition to the client's. */
  readonly headers?: GivenHeaders | undefined
  /** Time limit of one attempt in milliseconds, instead of the client's. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of attempts, instead of the client's. */
  readonly attemptsMax?: number | undefined
  /** The longest `Retry-After` that the call waits for, in milliseconds, instead of the client's. */
  readonly waitMaxMs?: number | undefined
  /** The longest silence within a stream, in milliseconds, instead of the client's. */
  readonly silenceMaxMs?: number | undefined
}

/** Options of a call whose response is a stream of items. */
export interface StreamOptions {
  /** True to connect again after the end of a stream of events, and after a cut. Default: true. */
  readonly reconnect?: boolean | undefined
}

/** Options of a call whose response is a file. */
export interface FileOptions {
  /** Returns the file as a stream while it arrives, instead of all its bytes. */
  readonly stream: true
}

/** Options of a single call of any contract. */
export interface AnyCallOptions extends CommonOptions, GivenCredentials {}

/** Options of a single call, with its own credentials in place of the client's. */
export type CallOptions<Schemes> = CommonOptions & Partial<CredentialOptions<Schemes>>

/**
 * The body of a request that is a file. A ReadableStream or an iterable is sent as it is read, and can be
 * sent only once.
 */
export type FileBody = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

type FileOf<Value, File> = unknown extends Value
  ? File
  : Value extends string
    ? File
    : Value extends readonly (infer Item)[]
      ? FileOf<Item, File>[]
      : Value

/** A form in which the named fields are files. */
export type WithFiles<Form, Names extends PropertyKey, File> = {
  [Name in keyof Form]: Name extends Names ? FileOf<Form[Name], File> : Form[Name]
}

/** The request of a call that names the media type it wants. */
export interface Accepting<Type extends string> {
  readonly accept: Type
}

/** The request of an operation: its parameters by location, and its body. An int64 is a bigint. */
export type RequestOf<Operation, Body, Schemes> = (Operation extends { parameters: infer Parameters }
  ? Given<Parameters>
  : unknown) &
  Given<Body> &
  Start &
  CallOptions<Schemes>

/** Says where a list begins. */
export interface Start {
  /** The `position` of an earlier result, to continue there. It takes the place of the query. */
  readonly position?: string | undefined
}

/**
 * The type of a value to send. A field that may be absent may also be undefined, even under
 * `exactOptionalPropertyTypes`.
 */
export type Given<Value> = Value extends readonly unknown[]
  ? { [Index in keyof Value]: Given<Value[Index]> }
  : Value extends FileBody
    ? Value
    : Value extends AsyncIterable<infer Item>
      ? AsyncIterable<Given<Item>>
      : Value extends object
        ? {
            [Name in keyof Value]: Given<Value[Name]> | (object extends Pick<Value, Name> ? undefined : never)
          }
        : Value

/** The arguments of a call: the request is optional if it requires nothing. */
export type Arguments<Request> = object extends Request ? [request?: Request] : [request: Request]

/** The result of a call. */
export interface CallResult<Data> {
  /** The decoded body. */
  readonly data: Data
  /** The response with its status and headers; its body has been read. */
  readonly response: Response
  /** The quota that is closest to its end, if the response tells it. */
  readonly rateLimit: RateLimit | undefined
  /** Where the next page of a list begins, to continue later; undefined on the last page. */
  readonly position: string | undefined
  /**
   * Requests the next page of a list, with the headers and limits of this call, but not its signal; undefined
   * on the last page.
   */
  readonly next: ((options?: AnyCallOptions) => Promise<CallResult<Data>>) | undefined
}

/**
 * Calls an operation whose response is a stream of items.
 * @throws {TypeError} if the request cannot be written
 */
export type StreamCall<Request, Item> = (...args: Arguments<Request & StreamOptions>) => ItemStream<Item>

/** Calls an operation. Rejects with an ApiError, or a TypeError if the request cannot be written. */
export type Call<Request, Data> = (...args: Arguments<Request>) => Promise<CallResult<Data>>

type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
type NumberOf<Text> = Text extends `${infer Value extends number}` ? Value : never

/** The statuses of a class: `StatusOf<4>` are those from 400 to 499. */
export type StatusOf<Class extends number> = NumberOf<`${Class}${Digit}${Digit}`>
