// Load shedding: refuses requests beyond a limit before any work, so that the others are served in time.
// Without it, an overload would queue requests in memory until their time limits.

import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import {
  type Around,
  mayStream,
  onlyStreams,
  type SerializedResponse,
  takesUploads,
  uploadOf,
} from 'contract-engine'
import type { FastifyRequest } from 'fastify'
import { operationNameOf } from './operation-names.js'
import { unavailable } from './unavailable.js'

/** The 503 of a shed request. A shared error, because a stack trace for each would cost 5 % of a refusal. */
export const overload = unavailable(new Error('WORK_MAX requests are in flight'))
/** The 503 of a shed stream. */
export const tooManyStreams = unavailable(new Error('STREAMS_MAX streams are in flight'))

/**
 * The kind of work that takes a slot. Each lane has slots of its own:
 * - unknown keys: a flood of guesses takes no slot from clients with known keys
 * - asked for SCHEME: work that asks another system about credentials; if that hangs, it keeps out nobody
 * else
 * - streams: they last, and idle ones keep no request out
 */
type Lane = 'work' | 'unknown keys' | 'streams' | `asked for ${string}`

interface Slots {
  taken: number
}

/** Limits concurrent work: running handlers, look-ups of keys, and streams. */
export class LoadShedder {
  readonly #lanes = new Map<Lane, Slots>()
  #refused = 0
  readonly #streamsRefused = new Map<string, number>()

  /**
   * @param max the slots of each lane except streams. A request that is still arriving takes no slot, so slow
   * clients take none
   * @param streamsMax the slots of streams
   */
  constructor(
    readonly max: number,
    readonly streamsMax = max,
  ) {}

  /** The number of running handlers and look-ups of known keys. */
  get inFlight(): number {
    return this.#slotsOf('work').taken
  }

  /** The number of streams in flight. */
  get streamsInFlight(): number {
    return this.#slotsOf('streams').taken
  }

  /** The number of requests and look-ups refused because their maximum was reached. */
  get refused(): number {
    return this.#refused
  }

  /** The number of streams refused because their maximum was reached, by operation. */
  get streamsRefused(): ReadonlyMap<string, number> {
    return this.#streamsRefused
  }

  /**
   * Throws a 503 if no slot is free, before the request costs quota, a look-up and a body. `run` checks
   * again, because the slot may be taken by the time the body has arrived.
   */
  check(lane: Lane = 'work', operation = 'none'): Slots {
    const slots = this.#slotsOf(lane)
    const isOfStreams = lane === 'streams'
    if (slots.taken < (isOfStreams ? this.streamsMax : this.max)) return slots
    if (isOfStreams) this.#streamsRefused.set(operation, (this.#streamsRefused.get(operation) ?? 0) + 1)
    else this.#refused++
    throw isOfStreams ? tooManyStreams : overload
  }

  /**
   * Runs a handler or a look-up in a slot, and frees the slot when the work settles, even if the request has
   * ended before.
   * @throws a 503 if no slot is free
   */
  async run<Result>(work: () => Promise<Result>, lane?: Lane, operation?: string): Promise<Result> {
    const slots = this.check(lane, operation)
    slots.taken++
    try {
      return await work()
    } finally {
      slots.taken--
    }
  }

  #slotsOf(lane: Lane): Slots {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known
    const slots = { taken: 0 }
    this.#lanes.set(lane, slots)
    return slots
  }

  /**
   * Runs a handler in a slot of streams. If its response is a stream, frees the slot when the stream ends.
   */
  runStream(operation: string, respond: () => Promise<SerializedResponse>): Promise<SerializedResponse> {
    return new Promise((resolve, reject) => {
      const work = async () => {
        const response = await respond()
        resolve(response)
        if (response.body instanceof Readable) await finished(response.body).catch(() => {})
      }
      this.run(work, 'streams', operation).catch(reject)
    })
  }
}

/**
 * Runs each handler in a slot of the shedder, except handlers that receive an upload while they run: they
 * take as long as their clients, and memory for bodies instead of a slot.
 */
export function shed<Resource>(loadShedder: LoadShedder): Around<Resource> {
  return (respond, operation) => {
    const inSlot: typeof respond = (...call) => loadShedder.run(() => respond(...call))
    if (!takesUploads(operation)) return inSlot
    return (...call) => (uploadOf(call[0]) === undefined ? inSlot(...call) : respond(...call))
  }
}

/**
 * Gives each stream a slot. An operation that only streams takes it before any work. Another takes it when
 * its handler has returned a stream, still within the transaction, which a refusal undoes.
 */
export function shedStreams<Resource>(loadShedder: LoadShedder): Around<Resource> {
  return (respond, operation) => {
    if (!mayStream(operation)) return respond
    const run = (request: FastifyRequest, work: () => Promise<SerializedResponse>) =>
      loadShedder.runStream(operationNameOf(request, operation), work)
    if (onlyStreams(operation)) return (...call) => run(call[0], () => respond(...call))
    return async (...call) => {
      const response = await respond(...call)
      return response.body instanceof Readable ? run(call[0], async () => response) : response
    }
  }
}
