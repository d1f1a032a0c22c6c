// Shares work among simultaneous calls.

import { setImmediate as nextIteration } from 'node:timers/promises'

/**
 * Returns a function for one input that calls `run` once for all inputs of an iteration of the event loop.
 * `run` returns an output for each input, in order.
 */
export function oncePerIteration<Input, Output>(
  run: (inputs: readonly Input[]) => Promise<readonly Output[]>,
): (input: Input) => Promise<Output> {
  return onceFor(nextIteration, run)
}

/** As `oncePerIteration`, for the inputs of callers that wait for nothing but each other's promises. */
export function oncePerTick<Input, Output>(
  run: (inputs: readonly Input[]) => Promise<readonly Output[]>,
): (input: Input) => Promise<Output> {
  return onceFor(nextTick, run)
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve))

function onceFor<Input, Output>(
  end: () => Promise<void>,
  run: (inputs: readonly Input[]) => Promise<readonly Output[]>,
): (input: Input) => Promise<Output> {
  let inputs: Input[] | undefined
  let outputs: Promise<readonly Output[]>
  const runAll = async (given: readonly Input[]) => {
    await end()
    inputs = undefined
    const all = await run(given)
    checkCount(given.length, all.length)
    return all
  }
  return async (input) => {
    if (inputs === undefined) {
      inputs = []
      outputs = runAll(inputs)
    }
    const index = inputs.push(input) - 1
    return (await outputs)[index] as Output
  }
}

/** @throws {Error} unless there is an output for each input: then none would be whose it seems */
export function checkCount(inputs: number, outputs: number): void {
  if (outputs !== inputs) throw new Error(`${inputs} inputs have ${outputs} outputs`)
}

/** Returns a function that shares the result of the run in flight, or starts one. */
export function singleFlight<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= run().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
