// What a contract needs of the application's router. Fastify makes it before it knows of a contract, and has
// no way to change its options later.

import type { FastifyInstance } from 'fastify'
import FindMyWay from 'find-my-way'
import type { Contract } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'

/** Of find-my-way 9.10, in part; `test/mount/router.ts` fails once Fastify has another one. */
interface Router {
  maxParamLength: number
  readonly caseSensitive: boolean
  readonly ignoreTrailingSlash: boolean
  readonly ignoreDuplicateSlashes: boolean
  readonly useSemicolonDelimiter: boolean
  querystringParser(query: string): Readonly<Record<string, unknown>>
}

const prototype: { hasRoute(this: Router): boolean } = FindMyWay.prototype

/**
 * Lets path parameters be as long as the contract's URLs: by default Fastify refuses one of 101 characters.
 * @throws {ContractError} if the router takes other paths for the contract's, or reads queries in another way
 */
export function prepareRouter(app: FastifyInstance, { limits }: Contract): void {
  const router = routerOf(app)
  if (router === undefined) throw new ContractError(unknownRouter)
  const unfit = options.filter(({ isUnfit }) => isUnfit(router)).map(({ text }) => `Fastify's ${text}`)
  if (unfit.length > 0) throw new ContractError(unfit.join('\n'))
  router.maxParamLength = Math.max(router.maxParamLength, limits.url)
}

const unknownRouter =
  'The router of this Fastify is not the find-my-way that contract-engine has. Install both packages in one' +
  ' folder, in versions that share it: npm ls find-my-way shows them.'

// Fastify does not lend it. It is what Fastify calls a function of.
function routerOf(app: FastifyInstance): Router | undefined {
  const { hasRoute } = prototype
  let router: Router | undefined
  prototype.hasRoute = function note() {
    router = this
    return false
  }
  try {
    app.hasRoute({ method: 'GET', url: '/' })
  } finally {
    prototype.hasRoute = hasRoute
  }
  return router
}

const others =
  'the paths of a contract are compared as they are, and links are relative to them. Leave it out.'
const options: readonly { readonly text: string; isUnfit(router: Router): boolean }[] = [
  { text: `caseSensitive is false: ${others}`, isUnfit: ({ caseSensitive }) => !caseSensitive },
  {
    text: `ignoreTrailingSlash is true: ${others}`,
    isUnfit: ({ ignoreTrailingSlash }) => ignoreTrailingSlash,
  },
  {
    text: `ignoreDuplicateSlashes is true: ${others}`,
    isUnfit: ({ ignoreDuplicateSlashes }) => ignoreDuplicateSlashes,
  },
  {
    text: 'useSemicolonDelimiter is true: in a contract, a semicolon is a part of the path. Leave it out.',
    isUnfit: ({ useSemicolonDelimiter }) => useSemicolonDelimiter,
  },
  {
    text: 'querystringParser is another one: a contract says how its parameters are read. Leave it out.',
    isUnfit: (router) => {
      const { 'a[b]': texts, ...more } = router.querystringParser('a[b]=1&a[b]=x,y')
      return String(texts) !== '1,x,y' || Object.keys(more).length > 0
    },
  },
]
