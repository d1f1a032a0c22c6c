// How orval's client sends, in place of axios: integers are exact in both directions, and a refusal is thrown with the contract's Error.

import { isLosslessNumber, parse, stringify } from 'lossless-json'
import type { Error as ErrorBody } from './client'

// The fields that the contract gives the format int64.
const int64 = new Set(['id', 'categoryId'])

/** What an operation of the client asks for. */
interface Call {
  readonly url: string
  readonly method: string
  readonly params?: object
  readonly headers?: object
  readonly data?: unknown
}

/** Where the service is, and the caller's key. */
export interface Access {
  readonly url: string
  readonly key: string
}

const own: Access = { url: process.env.URL ?? '', key: process.env.KEY ?? '' }

/** An answer that is not 2xx; without a body where it is not the service's. */
export class Refusal extends Error {
  constructor(
    readonly response: Response,
    readonly body: ErrorBody | undefined,
  ) {
    super(body?.message ?? response.statusText)
  }
}

/** Sends one request; of what it returns, `data` is as the contract says. */
export async function send<T>(call: Call, access = own): Promise<{ data: T; headers: Headers }> {
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
