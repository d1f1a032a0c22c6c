// Statements that are asked for at the same time, as one. The journey of a small statement costs PostgreSQL and the driver more
// than its work, and each that writes waits for the disk.

import { atEndOfTurn } from '../turn.js'
import { isUnavailable, type Sql } from './connect.js'

/** What one statement does for all of several inputs: it gives an output for each, in their order, or fails having done nothing. */
export type Batch<Input, Output> = (sql: Sql, inputs: readonly Input[]) => Promise<readonly Output[]>

/** The same for one input, by one statement with the others of the same time. */
export function batched<Input, Output>(
  run: Batch<Input, Output>,
): (sql: Sql, input: Input) => Promise<Output> {
  const queues = new WeakMap<Sql, BatchQueue<Input, Output>>()
  return (sql, input) => {
    let queue = queues.get(sql)
    if (queue === undefined) {
      queue = new BatchQueue((inputs) => run(sql, inputs))
      queues.set(sql, queue)
    }
    return queue.add(input)
  }
}

// While these are on their way, what comes gathers for the next: the busier the database, the more of them go at once, and a
// lone one need not wait.
const underWayMax = 2
const batchMax = 250

interface Caller<Input, Output> {
  readonly input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

class BatchQueue<Input, Output> {
  #waiting: Caller<Input, Output>[] = []
  #underWay = 0
  #isDue = false

  constructor(readonly run: (inputs: readonly Input[]) => Promise<readonly Output[]>) {}

  add(input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#sendSoon()
    })
  }

  #sendSoon(): void {
    if (this.#isDue || this.#underWay === underWayMax || this.#waiting.length === 0) return
    this.#isDue = true
    atEndOfTurn(() => {
      this.#isDue = false
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    const callers = this.#waiting.splice(0, batchMax)
    this.#underWay++
    this.#sendSoon()
    await this.#serve(callers)
    this.#underWay--
    this.#sendSoon()
  }

  async #serve(callers: readonly Caller<Input, Output>[]): Promise<void> {
    try {
      const outputs = await this.run(callers.map(({ input }) => input))
      for (const [i, { resolve }] of callers.entries()) resolve(outputs[i] as Output)
    } catch (error) {
      // The fault may be one's alone.
      if (callers.length > 1 && !isUnavailable(error))
        await Promise.all(callers.map((each) => this.#serve([each])))
      else for (const { reject } of callers) reject(error)
    }
  }
}
