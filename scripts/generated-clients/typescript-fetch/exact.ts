// What openapi-generator's TypeScript lacks for exact integers: a fetch that reads them, and a class that writes them.

import { isLosslessNumber, parse, stringify } from 'lossless-json'
import { AnimalsApi, type InitOverrideFunction, type RequestOpts } from './client'

// The fields that the contract gives the format int64.
const int64 = new Set(['id', 'categoryId'])

/** For `fetchApi` of a configuration: an answer's int64 fields are bigints, its other numbers numbers. */
export const fetchExactly: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  response.json = async () => parse(await response.text(), toExact)
  return response
}

function toExact(key: string, value: unknown): unknown {
  if (!isLosslessNumber(value)) return value
  return int64.has(key) ? BigInt(value.value) : Number(value.value)
}

/** The client, which writes a bigint as the number that it is. */
export class ExactAnimalsApi extends AnimalsApi {
  // A blob goes out as it is; else the client calls JSON.stringify, which knows no bigint.
  protected override request(context: RequestOpts, init?: RequestInit | InitOverrideFunction) {
    if (context.body === undefined) return super.request(context, init)
    return super.request({ ...context, body: new Blob([stringify(context.body) ?? '']) }, init)
  }
}
