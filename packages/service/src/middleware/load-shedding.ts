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

/** The 503 of a shed request. One for all: a stack trace for each would cost a twentieth of a refusal. */
export const overload = unavailable(new Error('WORK_MAX requests are in flight'))
/** That of a stream. */
export const tooManyStreams = unavailable(new Error('STREAMS_MAX streams are in flight'))

/**
 * What takes a slot. Look-ups of unknown keys have as many slots of their own: a flood of guesses takes none
 * from clients whose keys are known. So has what asks another system about the credentials of a scheme: one
 * that hangs, such as an issuer, keeps out nobody else. So have streams, which last: idle ones keep no
 * request out.
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
   * @param max of each lane but that of streams. A request that is still arriving is in no lane, so slow
   * clients take no slot
   */
  constructor(
    readonly max: number,
    readonly streamsMax = max,
  ) {}

  /** The handlers and the look-ups of known keys that are running. */
  get inFlight(): number {
    return this.#slotsOf('work').taken
  }

  /** The responses in flight whose body is a stream. */
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
   * Throws a 503 if no slot is free, before the request costs its client's quota, a look-up and a body.
   * `run` checks again: the slot may be taken by the time the body has arrived.
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
   * Runs a handler or a look-up in a slot, released when it settles, even if its request has ended before.
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

  /** Resolves with a response that may be a stream, whose slot is then released when it ends. */
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
 * Runs each handler in a slot of the shedder; but one that receives a body while it runs may take as long as
 * its client, and takes memory for bodies instead.
 */
export function shed<Resource>(loadShedder: LoadShedder): Around<Resource> {
  return (respond, operation) => {
    const inSlot: typeof respond = (...call) => loadShedder.run(() => respond(...call))
    if (!takesUploads(operation)) return inSlot
    return (...call) => (uploadOf(call[0]) === undefined ? inSlot(...call) : respond(...call))
  }
}

/**
 * Gives each stream a slot of its own. An operation that only streams takes it before any work; another when
 * its handler has returned a stream, within its transaction, which a refusal undoes.
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
