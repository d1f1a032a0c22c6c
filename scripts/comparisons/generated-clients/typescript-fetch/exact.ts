// Exact integers for openapi-generator's TypeScript client: a fetch reads them, a class writes them.

import { isLosslessNumber, parse, stringify } from 'lossless-json'
import { AnimalsApi, type InitOverrideFunction, type RequestOpts } from './client'

// The fields with the format int64 in the contract.
const int64 = new Set(['id', 'categoryId'])

/** For `fetchApi` of a configuration: int64 fields of a response are bigints, other numbers are numbers. */
export const fetchExactly: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  response.json = async () => parse(await response.text(), toExact)
  return response
}

function toExact(key: string, value: unknown): unknown {
  if (!isLosslessNumber(value)) return value
  return int64.has(key) ? BigInt(value.value) : Number(value.value)
}

/** The client, writing a bigint as an exact number. */
export class ExactAnimalsApi extends AnimalsApi {
  // The client sends a blob unchanged. For anything else it calls JSON.stringify, which throws on a bigint.
  protected override request(context: RequestOpts, init?: RequestInit | InitOverrideFunction) {
    if (context.body === undefined) return super.request(context, init)
    return super.request({ ...context, body: new Blob([stringify(context.body) ?? '']) }, init)
  }
}
