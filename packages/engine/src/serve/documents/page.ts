// `/docs`: the contract's operations as plain HTML. When the browser has loaded Scalar, an interactive
// reference, it replaces the plain page. Scalar is served from its copy in @scalar/fastify-api-reference,
// which is 13 MB and optional; the page's Content-Security-Policy allows nothing from other origins. The code
// that writes the texts is loaded when a text is first asked for, because most instances never are.

import type { FastifyInstance } from 'fastify'
import type { Contract } from '../../document/contract.js'
import { nodeOf } from '../../document/reader.js'
import { OperatorError } from '../../lib/operator-error.js'
import { referenceFrom } from '../../lib/relative-references.js'
import { addressOf } from '../paths/address.js'
import { documentPaths, operationAt } from '../paths/own-paths.js'
import { serviceLinks } from './api-catalog.js'
import type { AssetOptions } from './assets.js'
import { baseUrlIn, withBase } from './contract-files.js'
import { addDocument, checkIsFree, documentPlace, ownServerOf } from './document-place.js'
import { heldFile } from './held-file.js'
import type { PageParts } from './page-parts.js'

// Scalar uses inline styles and `data:` icons, and requests tokens at the URLs that the contract names.
function policyFor(contract: Contract): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    'img-src data:',
    ["connect-src 'self'", ...tokenOrigins(contract)].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

// Returns the origins of token URLs. Login pages open in their own window, to which the policy does not
// apply.
function tokenOrigins({ securitySchemes }: Contract): string[] {
  const flows = [...securitySchemes.values()].flatMap((each) => Object.values(each.flows ?? {}).map(nodeOf))
  const urls = flows.flatMap(({ tokenUrl, refreshUrl }) => [tokenUrl, refreshUrl])
  const origins = urls.flatMap((url) => {
    const text = String(url)
    return /^https?:/i.test(text) && URL.canParse(text) ? [new URL(text).origin] : []
  })
  return [...new Set(origins)]
}

/**
 * Adds `/docs`, its assets and its text, and redirects `/` to it. The contract's operations take precedence.
 * The pages of a second contract are below its prefix: `/admin/docs`, to which `/admin/` redirects.
 * @param parts the tables and the error codes of other parts of the server
 * @throws {OperatorError} if Scalar is not installed, or the server is a bundle in CommonJS
 * @throws {ContractError} if the paths are those of another contract, or of the application
 */
export function documentation(app: FastifyInstance, contract: Contract, parts: PageParts = {}): void {
  const place = documentPlace(app, contract)
  const { folder } = place
  const address = addressOf(app, contract, parts.address)
  const variantOf = baseUrlIn(app, address, place)
  const { mark } = contract
  const add = (path: string, type: string, make: Make, options?: AssetOptions) =>
    addDocument(app, contract, folder + path, type, make, options)
  if (operationAt(`${folder}/`, contract) === undefined) {
    checkIsFree(app, contract, `${folder}/`)
    app.get(`${folder}/`, async ({ url }, reply) => reply.redirect(referenceFrom(url, 'docs')))
  }
  const text = withBase(
    async () => (await import('../../compile/documents/plain-text.js')).plainTextOf(contract, parts),
    mark,
  )
  add(documentPaths.text, 'text/plain; charset=utf-8', text, { variantOf })
  if (operationAt(folder + documentPaths.page, contract) !== undefined) return
  const html = withBase(
    async () => (await import('../../compile/documents/page-html.js')).pageHtml(contract, parts),
    mark,
  )
  add(documentPaths.page, 'text/html; charset=utf-8', async (base) => html(await escaped(base)), {
    ...{ variantOf, address },
    headers: { 'Content-Security-Policy': policyFor(contract), Link: serviceLinks('.').join(', ') },
  })
  const scalar = scalarFile()
  const javascript = 'text/javascript; charset=utf-8'
  add('/docs/page.js', javascript, heldFile(app, staticFile('page.js')))
  add('/docs/page.css', 'text/css; charset=utf-8', heldFile(app, staticFile('page.css')))
  add('/docs/scalar.js', javascript, heldFile(app, scalar))
  add('/docs/contract.json', 'application/json; charset=utf-8', async () =>
    (await import('../../compile/documents/page-document.js')).pageDocument(
      contract,
      parts,
      ownServerOf(app, place),
    ),
  )
}

type Make = Parameters<typeof addDocument>[4]

async function escaped(text: string): Promise<string> {
  return (await import('../../compile/documents/markdown.js')).escapeHtml(text)
}

// The build copies this folder to the same place.
function staticFile(name: string): URL {
  return new URL(`static/${name}`, import.meta.url)
}

function scalarFile(): URL {
  if (!('url' in import.meta))
    throw new OperatorError(
      `${documentPaths.page} is not served by a bundle in CommonJS: bundle the server to ES modules`,
    )
  try {
    return new URL('js/standalone.js', import.meta.resolve('@scalar/fastify-api-reference'))
  } catch (error) {
    throw new OperatorError(
      `${documentPaths.page} needs Scalar, which is not installed: npm install @scalar/fastify-api-reference`,
      { cause: error },
    )
  }
}
