// A request while it is being made: the parts that a mutation may change, before they are put on the wire.

import type { Operation } from './contract.js'
import type { Expectation, Request } from './request.js'

/** What a request is made of. Texts are as they go over the wire, one byte a character. */
export interface Draft {
  operation: Operation | undefined
  method: string
  /** Each value is encoded already. */
  pathValues: Record<string, string>
  query: string[]
  headers: [name: string, value: string][]
  body: Uint8Array | undefined
  version: string
  /** Sizes of the chunks that the body is sent in; undefined: in one piece, with its length. */
  chunks: readonly number[] | undefined
  chunkExtension: string
  /** The last word on the target. */
  retarget: (target: string) => string
  /** In place of the headers that frame the body. */
  framing: [name: string, value: string][] | undefined
  isRaw: boolean
}

/** A change to a request, and what the service has to make of it then. */
export interface Mutation {
  readonly name: string
  /** Of two mutations of one place, one would undo the other. */
  readonly place: 'method' | 'target' | 'query' | 'type' | 'body' | 'framing' | 'header'
  readonly expected: Expectation
  apply(draft: Draft): void
}

/** Puts a draft on the wire. */
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
    expected: (['refused', 'either'] as const).find((each) => expectations.includes(each)) ?? 'done',
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
  return { headers: [['Transfer-Encoding', 'chunked']], payload: inChunks(body, chunks, chunkExtension) }
}

// A body of a megabyte in chunks of a byte takes seconds to write, in which no answer is read.
const chunksMax = 1_000

function inChunks(body: Uint8Array, sizes: readonly number[], extension: string): Buffer {
  const parts: Uint8Array[] = []
  const sizeMin = Math.ceil(body.length / chunksMax)
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = body.subarray(at, at + Math.max(sizes[i % sizes.length] ?? body.length, sizeMin))
    parts.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n'))
    at += chunk.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
