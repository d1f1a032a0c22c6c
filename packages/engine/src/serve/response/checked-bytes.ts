// Checks the bytes that a handler returns as a stream. At a value that is neither text nor bytes, Node throws
// where nothing catches it, which would end the process. And Node does not count the bytes: on a connection
// that is kept open, a client would take bytes beyond the Content-Length for the next response, or wait for
// missing ones.

import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { ResponseError } from './response-validation.js'

/**
 * Returns the bytes of a body. The returned stream fails if the body fails, at a value that is neither text
 * nor bytes, and if the number of bytes differs from `length`.
 * @param length undefined if the response has no Content-Length
 * @param place the operation and status, for messages
 */
export function checkedBytes(body: Readable, length: number | undefined, place: string): Readable {
  const checked = new CheckedBytes(length, place)
  pipeline(body, checked, () => {}) // `checked` gets every error itself
  return checked
}

class CheckedBytes extends Transform {
  #count = 0

  constructor(
    readonly length: number | undefined,
    readonly place: string,
  ) {
    super({ writableObjectMode: true })
  }

  override _transform(value: unknown, _encoding: BufferEncoding, done: TransformCallback): void {
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
      done(this.#fault('the body is a stream of values that are neither text nor bytes'))
      return
    }
    this.#count += Buffer.byteLength(value)
    // The Content-Length may be no number (NaN): then no byte is within it.
    const isWithin = this.length === undefined || this.#count <= this.length
    done(isWithin ? null : this.#lengthFault(), value)
  }

  override _flush(done: TransformCallback): void {
    done(this.length === undefined || this.#count === this.length ? null : this.#lengthFault())
  }

  #lengthFault(): ResponseError {
    return this.#fault(`the body does not have the ${this.length} bytes of its Content-Length`)
  }

  #fault(problem: string): ResponseError {
    return new ResponseError(this.place, problem)
  }
}
