// Static files of the documentation, with entity tags and gzip. They change only with the contract or a release.

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A file, uncompressed and compressed. */
export interface Asset {
  readonly type: string
  readonly identity: Representation
  readonly gzip: Representation
}

// Strong entity tags differ between representations (RFC 9110, section 8.8.3).
interface Representation {
  readonly bytes: Buffer
  readonly etag: string
}

/** Creates an asset on the first request, because most instances are never asked for it. A failure is not cached. */
export function lazyAsset(make: () => Promise<Asset>): () => Promise<Asset> {
  let asset: Promise<Asset> | undefined
  return () => {
    asset ??= make().catch((error) => {
      asset = undefined
      throw error
    })
    return asset
  }
}

/** Compresses the bytes and derives the entity tags from their hash. */
export async function toAsset(type: string, bytes: Buffer): Promise<Asset> {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const compressed = await promisify(gzip)(bytes)
  return {
    type,
    identity: { bytes, etag: `"${hash}"` },
    gzip: { bytes: compressed, etag: `"${hash}-gzip"` },
  }
}

/**
 * Sends an asset, or 304 if the client has it (RFC 9110, section 13.1.2). `no-cache` makes browsers revalidate each time, so that assets
 * of different versions are never mixed.
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
  // For HEAD, Fastify derives Content-Length from the payload; it must equal that of a 200 (RFC 9110, section 8.6).
  if (matches(headers['if-none-match'], etag))
    return reply.code(304).send(method === 'HEAD' ? bytes : undefined)
  if (coding !== 'identity') reply.header('Content-Encoding', coding)
  return bytes
}

// RFC 9110, section 12.5.3: `*` stands for any coding not listed; the default weight is 1.
function prefersGzip(accepted: string | string[] = ''): boolean {
  const weights = new Map<string, number>()
  for (const each of String(accepted).toLowerCase().split(',')) {
    const [coding = '', weight = '1'] = each.split(/\s*;\s*q=/)
    weights.set(coding.trim(), Number(weight))
  }
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

// RFC 9110, section 13.1.2: `*` or a list of tags, compared weakly.
function matches(ifNoneMatch = '', etag: string): boolean {
  return ifNoneMatch.trim() === '*' || ifNoneMatch.match(/"[^"]*"/g)?.includes(etag) === true
}
