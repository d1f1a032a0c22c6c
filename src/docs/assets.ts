// What the documentation serves: files that change with the contract or with a version alone.

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What is the same for everybody, as it is and compressed. */
export interface Asset {
  readonly type: string
  readonly identity: Representation
  readonly gzip: Representation
}

// Each has an entity tag of its own, for the tags are strong: RFC 9110, section 8.8.3.
interface Representation {
  readonly bytes: Buffer
  readonly etag: string
}

/** An asset that the first who asks makes, for most instances are never asked; the next where that fails. */
export function kept(make: () => Promise<Asset>): () => Promise<Asset> {
  let asset: Promise<Asset> | undefined
  return () => {
    asset ??= make().catch((error) => {
      asset = undefined
      throw error
    })
    return asset
  }
}

/** Makes an asset of bytes, whose entity tag tells of every change. */
export async function toAsset(type: string, bytes: Buffer): Promise<Asset> {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const zipped = await promisify(gzip)(bytes)
  return {
    type,
    identity: { bytes, etag: `"${hash}"` },
    gzip: { bytes: zipped, etag: `"${hash}-gzip"` },
  }
}

/**
 * Answers with an asset, or with 304 to who has it (RFC 9110, section 13.1.2). `no-cache`: kept, but asked about each time, so that a new
 * version is never mixed with an old one.
 */
export async function sendAsset(
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
): Promise<unknown> {
  const coding = prefersGzip(headers['accept-encoding']) ? 'gzip' : 'identity'
  const { bytes, etag } = asset[coding]
  const vary = [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', ')
  reply.headers({ 'Cache-Control': 'no-cache', ETag: etag, Vary: vary }).type(asset.type)
  // Fastify tells the length of what it is given to who asks by HEAD, and it is to be that of a 200 (RFC 9110, section 8.6).
  if (has(headers['if-none-match'], etag)) return reply.code(304).send(method === 'HEAD' ? bytes : undefined)
  if (coding !== 'identity') reply.header('Content-Encoding', coding)
  return bytes
}

// RFC 9110, section 12.5.3: weights; `*` is any coding that is not named, and one without a weight has 1.
function prefersGzip(accepted: string | string[] = ''): boolean {
  const weights = new Map<string, number>()
  for (const each of String(accepted).toLowerCase().split(',')) {
    const [coding = '', weight = '1'] = each.split(/\s*;\s*q=/)
    weights.set(coding.trim(), Number(weight))
  }
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

// RFC 9110, section 13.1.2: `*`, or a list of tags, of which the weak ones are as good.
function has(ifNoneMatch = '', etag: string): boolean {
  return ifNoneMatch.trim() === '*' || ifNoneMatch.match(/"[^"]*"/g)?.includes(etag) === true
}
