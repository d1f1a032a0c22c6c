// A request under construction: the parts that mutations may change.

import type { Operation } from './contract.js'
import type { Expectation, Request } from './request.js'

/** The parts of a request. Texts are as sent, one byte a character. */
export interface Draft {
  operation: Operation | undefined
  method: string
  /** Percent-encoded. */
  pathValues: Record<string, string>
  query: string[]
  headers: [name: string, value: string][]
  body: Uint8Array | undefined
  version: string
  /** Chunk sizes, used in turn; undefined: the body is sent with a Content-Length. */
  chunks: readonly number[] | undefined
  chunkExtension: string
  /** Applied to the assembled target. */
  retarget: (target: string) => string
  /** Replaces Content-Length and Transfer-Encoding. */
  framing: [name: string, value: string][] | undefined
  isRaw: boolean
}

/** A change to a request, and the response expected to it. */
export interface Mutation {
  readonly name: string
  /** A request gets at most one mutation of each part, since the second would undo the first. */
  readonly part: 'method' | 'target' | 'query' | 'type' | 'body' | 'framing' | 'header'
  readonly expected: Expectation
  apply(draft: Draft): void
}

/** Assembles the request; `basis` is the response expected without mutations. */
export function toRequest(
  draft: Draft,
  mutations: readonly Mutation[],
  basis: Expectation,
  hasKey: boolean,
): Request {
  const { operation, method, headers, body, version, isRaw } = draft
  const framed = frame(draft)
  const expectations = [basis, ...mutations.map(({ expected }) => expected)]
  return {
    method,
    target: draft.retarget(targetOf(draft)),
    version,
    headers: [...headers, ...framed.headers],
    payload: framed.payload,
    body,
    operation: operation?.id,
    expected: (['rejected', 'either'] as const).find((each) => expectations.includes(each)) ?? 'accepted',
    hasKey,
    mutations: mutations.map(({ name }) => name),
    isRaw: isRaw || draft.chunkExtension !== '' || draft.framing !== undefined,
  }
}

function targetOf({ operation, pathValues, query }: Draft): string {
  const path = operation?.path.replace(/\{([^{}]+)\}/g, (_, name) => pathValues[name] ?? '') ?? '/'
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

function frame({ body, chunks, chunkExtension, framing }: Draft): Pick<Request, 'headers' | 'payload'> {
  const payload = body ?? Buffer.alloc(0)
  if (framing !== undefined) return { headers: framing, payload }
  if (body === undefined) return { headers: [], payload }
  if (chunks === undefined) return { headers: [['Content-Length', String(body.length)]], payload }
  return { headers: [['Transfer-Encoding', 'chunked']], payload: encodeChunks(body, chunks, chunkExtension) }
}

// A megabyte in one-byte chunks takes seconds to send, while no response is read.
const chunksMax = 1_000

function encodeChunks(body: Uint8Array, sizes: readonly number[], extension: string): Buffer {
  const parts: Uint8Array[] = []
  const sizeMin = Math.ceil(body.length / chunksMax)
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = body.subarray(at, at + Math.max(sizes[i % sizes.length] ?? body.length, sizeMin))
    parts.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n'))
    at += chunk.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
