// Serves the static files of the documentation, with entity tags, compressed with Brotli and gzip. They
// change only with the contract or a release.

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { namesTag } from '../../lib/field-values.js'
import type { Address } from '../paths/address.js'
import { withAbsoluteLinks } from '../response/absolute-links.js'
import { addHeaders } from '../response/list-headers.js'

// Each representation has its own strong entity tag (RFC 9110, section 8.8.3).
interface Representation {
  readonly bytes: Buffer
  readonly etag: string
}

// In the server's order of preference.
const codings = ['br', 'gzip', 'identity'] as const

type Coding = (typeof codings)[number]

type Asset = Readonly<Record<Coding, Representation>>

// The option decides between codings that the client likes equally. The types of the package lack it.
interface Preferring {
  encoding(available: readonly string[], options?: { preferred: readonly string[] }): string | undefined
}

// For the 3.6 MB of Scalar, gzip takes 0.1 s of CPU to make 996 kB. Brotli takes 0.1 s at 5 (906 kB), 0.4 s
// at 9 (876 kB), and 6 s at 11, its best (793 kB). Callers can ask for new variants as often as they like.
const quality = { once: 9, variant: 5 } as const

/** What a file depends on beside the contract. */
export interface AssetOptions {
  /** Sent with the file. Links in them become absolute. */
  readonly headers?: Readonly<Record<string, string>>
  /** Needed to make the links in `headers` absolute. */
  readonly address?: Address
  /** Returns the variant of the file that a request gets. By default, all requests get the same. */
  readonly variantOf?: (request: FastifyRequest) => string
}

/** The content of a file. */
export type Made = Buffer | string

// Bounded, because callers choose the host that they name.
const variantsMax = 10

/**
 * Serves a file, or 304 to a client that already has it (RFC 9110, section 13.1.2). The file is made on the
 * first request, because most instances are never asked for it; a failure is not cached. `no-cache` makes
 * browsers revalidate the file each time, so that they never mix assets of different versions.
 */
export function addAsset(
  app: FastifyInstance,
  path: string,
  type: string,
  make: (variant: string) => Made | Promise<Made>,
  { headers = {}, address, variantOf }: AssetOptions = {},
): void {
  const brotliQuality = variantOf === undefined ? quality.once : quality.variant
  const assetOf = cached((variant) => toAsset(() => make(variant), brotliQuality))
  app.get(path, async (request, reply) => {
    const coding = codingFor(request.headers['accept-encoding'])
    const { bytes, etag } = (await assetOf(variantOf?.(request) ?? ''))[coding]
    const own = address === undefined ? headers : withAbsoluteLinks(headers, request, address)
    reply.headers({ ...own, 'Cache-Control': 'no-cache', ETag: etag }).type(type)
    addHeaders(reply, { Vary: 'Accept-Encoding' })
    // For HEAD, Fastify derives Content-Length from the payload; it must equal that of a 200 (RFC 9110,
    // section 8.6).
    if (namesTag(request.headers['if-none-match'] ?? '', etag, true))
      return reply.code(304).send(request.method === 'HEAD' ? bytes : undefined)
    if (coding !== 'identity') reply.header('Content-Encoding', coding)
    return bytes
  })
}

function cached(make: (variant: string) => Promise<Asset>): (variant: string) => Promise<Asset> {
  const assets = new Map<string, Promise<Asset>>()
  return (variant) => {
    const present = assets.get(variant)
    if (present !== undefined) return present
    if (assets.size === variantsMax) assets.clear()
    const made = make(variant)
    assets.set(variant, made)
    made.catch(() => assets.delete(variant))
    return made
  }
}

async function toAsset(make: () => Made | Promise<Made>, brotliQuality: number): Promise<Asset> {
  const bytes = Buffer.from(await make())
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return {
    identity: { bytes, etag: `"${hash}"` },
    // The coding comes first in the tag: a proxy that compresses, such as Caddy, takes `-gzip"` in an
    // If-None-Match for its own suffix.
    gzip: { bytes: await promisify(gzip)(bytes), etag: `"gzip-${hash}"` },
    br: { bytes: await promisify(brotliCompress)(bytes, brotli), etag: `"br-${hash}"` },
  }
}

// `x-gzip` means gzip (RFC 9110, sections 8.4.1.3 and 12.5.3).
function codingFor(accepted: string | string[] = ''): Coding {
  const headers = { 'accept-encoding': String(accepted).toLowerCase().replaceAll('x-gzip', 'gzip') }
  const negotiator: Preferring = new Negotiator({ headers })
  const coding = negotiator.encoding(codings, { preferred: codings })
  return codings.find((each) => each === coding) ?? 'identity'
}
