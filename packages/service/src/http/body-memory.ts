// How much memory the bodies of all requests in flight may hold: BODIES_MAX_BYTES. By default it follows from
// the contract, so that four of the largest bodies fit beside many small ones.

import { BodyMemory, type Operation } from 'contract-engine'
import type { Config } from '../config.js'
import { OperatorError } from '../lib/operator-error.js'
import { unavailable } from '../middleware/unavailable.js'

/** The 503 of a body for which there is no room. */
export const bodiesFull = unavailable(new Error('bodies in flight hold BODIES_MAX_BYTES'))

const leastDefault = 67_108_864
const largestTimes = 4

/**
 * Creates what bounds the bodies in flight.
 * @throws {OperatorError} if the largest body that the contract allows would never fit
 */
export function createBodyMemory({ bodiesMaxBytes }: Config, operations: readonly Operation[]): BodyMemory {
  const sizes = operations.map((operation) => [bufferedMax(operation), operation.id] as const)
  const [largest, id] = sizes.reduce((most, each) => (each[0] > most[0] ? each : most), [0, ''] as const)
  const max = bodiesMaxBytes ?? Math.max(leastDefault, largestTimes * largest)
  const memory = new BodyMemory(max, bodiesFull)
  if (memory.largest >= largest) return memory
  const least = Math.ceil((largest / memory.largest) * max)
  throw new OperatorError(
    `BODIES_MAX_BYTES must be at least ${least}: ${id} takes bodies of ${largest} bytes into memory`,
  )
}

// Of a body that does not stream.
function bufferedMax({ body, limits }: Operation): number {
  return body?.contents.some(({ upload }) => upload === undefined) ? limits.body : 0
}
