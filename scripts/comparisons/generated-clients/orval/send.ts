// Sends the requests of orval's client, instead of axios, with exact integers. Throws the contract's Error.

import { isLosslessNumber, parse, stringify } from 'lossless-json'
import type { Error as ErrorBody } from './client'

// The fields with the format int64 in the contract.
const int64 = new Set(['id', 'categoryId'])

/** A request of the client. */
interface Call {
  readonly url: string
  readonly method: string
  readonly params?: object
  readonly headers?: object
  readonly data?: unknown
}

/** The service's URL and an API key. */
export interface Access {
  readonly url: string
  readonly key: string
}

const defaultAccess: Access = { url: process.env.URL ?? '', key: process.env.KEY ?? '' }

/** A response that is not 2xx; without a body if it does not come from the service. */
export class Refusal extends Error {
  constructor(
    readonly response: Response,
    readonly body: ErrorBody | undefined,
  ) {
    super(body?.message ?? response.statusText)
  }
}

/** Sends a request. `data` has the type that the contract declares. */
export async function send<T>(call: Call, access = defaultAccess): Promise<{ data: T; headers: Headers }> {
  const url = `${access.url}${call.url}?${new URLSearchParams(given(call.params))}`
  const headers: [string, string][] = [...given(call.headers), ['Authorization', `Bearer ${access.key}`]]
  const body = stringify(call.data) ?? null
  const response = await fetch(url, { method: call.method, headers, body })
  const text = await response.text()
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
  const data = isJson ? parse(text, toExact) : undefined
  if (!response.ok) throw new Refusal(response, data as ErrorBody | undefined)
  return { data: data as T, headers: response.headers }
}

function given(values: object = {}): [string, string][] {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  return present.map(([name, value]) => [name, String(value)])
}

function toExact(key: string, value: unknown): unknown {
  if (!isLosslessNumber(value)) return value
  return int64.has(key) ? BigInt(value.value) : Number(value.value)
}
