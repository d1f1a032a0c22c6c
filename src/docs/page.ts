// `/docs`: the contract as a page where one can try it. It is Scalar, as @scalar/fastify-api-reference ships it; nothing comes from
// anywhere else, and the page's Content-Security-Policy lets nothing else in.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../contract/types.js'
import { docsFolder } from '../paths.js'
import { pageDocument } from './page-document.js'

// Scalar writes styles into the page and into its elements, and draws some icons from `data:`.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface Asset {
  readonly type: string
  readonly identity: Representation
  readonly gzip: Representation
}

// Each has an entity tag of its own, for the tags are strong: RFC 9110, section 8.8.3.
interface Representation {
  readonly bytes: Buffer
  readonly etag: string
}

/** Adds `/docs` with all that it loads, and leads `/` there; what the contract has at either comes first. */
export function addDocumentation(app: FastifyInstance, contract: Contract): void {
  if (!isTaken('/', contract)) app.get('/', async (_, reply) => reply.redirect('docs'))
  if (isTaken('/docs', contract)) return
  const html = kept(() => toAsset('text/html; charset=utf-8', Buffer.from(page(contract))))
  app.get('/docs', async (request, reply) => {
    reply.header('Content-Security-Policy', policy)
    return send(request, reply, await html())
  })
  for (const [name, type, read] of files) {
    const asset = kept(async () => toAsset(type, await read(contract)))
    app.get(`/docs/${name}`, async (request, reply) => send(request, reply, await asset()))
  }
}

// Made by the first who asks, for most instances are never asked; by the next where that fails.
function kept(make: () => Promise<Asset>): () => Promise<Asset> {
  let asset: Promise<Asset> | undefined
  return () => {
    asset ??= make().catch((error) => {
      asset = undefined
      throw error
    })
    return asset
  }
}

function isTaken(path: string, { prefix, operations }: Contract): boolean {
  return [...operations.values()].some((operation) => prefix + operation.path === path)
}

const scalarFile = path.join(
  path.dirname(fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'))),
  'js',
  'standalone.js',
)
const javascript = 'text/javascript; charset=utf-8'
const files: readonly [name: string, type: string, read: (contract: Contract) => Promise<Buffer>][] = [
  ['page.js', javascript, () => readFile(path.join(docsFolder, 'page.js'))],
  ['page.css', 'text/css; charset=utf-8', () => readFile(path.join(docsFolder, 'page.css'))],
  ['scalar.js', javascript, () => readFile(scalarFile)],
  [
    'contract.json',
    'application/json; charset=utf-8',
    async (contract) => Buffer.from(pageDocument(contract)),
  ],
]

// Addresses are relative, for the service may stand behind a proxy that adds a path of its own.
function page({ title }: Contract): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<p id="rounding" role="status" hidden>This browser rounds integers beyond 2<sup>53</sup> when it shows an answer.</p>
<div id="documentation"></div>
<noscript>This page needs JavaScript. The contract itself: <a href="openapi.yaml">openapi.yaml</a></noscript>
<script src="docs/scalar.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
}

async function toAsset(type: string, bytes: Buffer): Promise<Asset> {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const zipped = await promisify(gzip)(bytes)
  return {
    type,
    identity: { bytes, etag: `"${hash}"` },
    gzip: { bytes: zipped, etag: `"${hash}-gzip"` },
  }
}

// `no-cache`: kept, but asked about each time, so that a new version is never mixed with an old one.
async function send({ headers }: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<unknown> {
  const coding = prefersGzip(headers['accept-encoding']) ? 'gzip' : 'identity'
  const { bytes, etag } = asset[coding]
  const vary = [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', ')
  reply.headers({ 'Cache-Control': 'no-cache', ETag: etag, Vary: vary }).type(asset.type)
  if (has(headers['if-none-match'], etag)) return reply.code(304).send()
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
