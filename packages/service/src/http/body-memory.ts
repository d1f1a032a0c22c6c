// Limits the memory of all request bodies in flight: BODIES_MAX_BYTES. The default follows from the contract:
// four of its largest bodies fit beside many small ones.

import { BodyMemory, type Operation } from 'contract-engine'
import type { Config } from '../config.js'
import { OperatorError } from '../lib/operator-error.js'
import { unavailable } from '../middleware/unavailable.js'

/** The 503 for a body that does not fit. */
export const bodiesFull = unavailable(new Error('bodies in flight hold BODIES_MAX_BYTES'))

const leastDefault = 67_108_864
const largestTimes = 4

/**
 * Creates the limit of the bodies in flight.
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

// Returns the size of the largest body of an operation that is read into memory. Uploads are not.
function bufferedMax({ body, limits }: Operation): number {
  return body?.contents.some(({ upload }) => upload === undefined) ? limits.body : 0
}
