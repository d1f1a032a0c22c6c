// The body of bytes that a handler returns as a stream, as it may be sent. Node throws at a value that is
// neither text nor bytes where nothing catches it, which would end the process; and it sends however many
// bytes there are, so that on a connection that is kept a client would take those beyond a Content-Length for
// the next response, or wait for those that are missing.

import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { ResponseError } from './response-validation.js'

/**
 * The bytes of a body. They fail with it, at what is neither text nor bytes, and if they are not as many as
 * was said.
 * @param length undefined if nothing was said
 * @param place the operation and status, for messages
 */
export function checkedBytes(body: Readable, length: number | undefined, place: string): Readable {
  const checked = new CheckedBytes(length, place)
  pipeline(body, checked, () => {}) // which hears of every failure itself
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
    // What is said may be no number: then there is no byte within it.
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
