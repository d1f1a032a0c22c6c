// Exact integers for hey-api's client. Its transformers convert a number or a string to a bigint, so an
// integer that a number would round is passed to them as a string.

import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json'
import type { Config } from './client/client'

/** Options for `createClient`. */
export const exact: Config = {
  bodySerializer: (body) => stringify(body),
  async fetch(input, init) {
    const response = await fetch(input, init)
    if (!response.headers.get('Content-Type')?.startsWith('application/json')) return response
    const body = parse(await response.text(), undefined, numberOrDigits)
    return new Response(JSON.stringify(body), response)
  },
}

function numberOrDigits(digits: string): number | string {
  return isInteger(digits) && !isSafeNumber(digits) ? digits : Number(digits)
}
