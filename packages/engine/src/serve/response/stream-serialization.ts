// Makes the body of a response from the items that a handler returns: validates, serializes and frames each.

import type { FastifyReply } from 'fastify'
import { stringify } from 'lossless-json'
import type { Content, Operation } from '../../document/contract.js'
import { keepAliveOf } from '../../document/framing.js'
import type { WriteJson } from '../../document/functions.js'
import { contentsOf } from '../../document/responses.js'
import { isStream } from '../../kinds/index.js'
import { Unwritable } from '../../kinds/kind.js'
import { type Framing, framingOf, type Items, isPosition } from '../../kinds/stream/served.js'
import { ItemStream } from './item-stream.js'
import { endWithResponse } from './response-stream.js'
import { type ItemFault, type ResponseCheck, ResponseError } from './response-validation.js'

/** Creates the serializer of an operation's streams. A stream ends with its response. */
export function createStreamSerializer(
  { id, limits, responses }: Operation,
  check: ResponseCheck,
  writers: ReadonlyMap<Content, WriteJson>,
): (reply: FastifyReply, status: number, content: Content, items: Items) => ItemStream {
  const streams = contentsOf(responses.values()).filter(isStream)
  const framings = new Map(streams.map((each) => [each, framingOf(each)]))
  return (reply, status, content, items) => {
    const { start, frame } = framings.get(content) as Framing // has every declared stream
    const toJson = writers.get(content) ?? stringify
    const frameItem = (item: unknown) => frame(item, toJson)
    const place = `${id} ${status}`
    const faultOf = check.itemFault(content)
    const write = createWrite(
      place,
      (item) => (isPosition(content, item) ? undefined : faultOf(item)),
      frameItem,
    )
    const stream = new ItemStream({
      place,
      items,
      start,
      write,
      keepAlive: keepAliveOf(content.mediaType, limits),
      silenceMs: limits.silenceMs,
      isResumed: content.framing === 'sse',
      log: reply.log,
    })
    endWithResponse(stream, reply)
    return stream
  }
}

// Errors treat a stream as an array, so that the pointer has the index of the item.
function createWrite(
  place: string,
  faultOf: ItemFault,
  frame: (item: unknown) => string,
): (item: unknown, index: number) => string {
  return (item, index) => {
    try {
      const fault = faultOf(item)
      if (fault === undefined) return frame(item)
      throw new Unwritable(fault.problem, fault.at)
    } catch (error) {
      if (error instanceof Unwritable)
        throw new ResponseError(place, `body at "/${index}${error.at}" ${error.message}`)
      // For example, an error that a getter throws.
      throw new ResponseError(place, `body at "/${index}" cannot be written`, { cause: error })
    }
  }
}
