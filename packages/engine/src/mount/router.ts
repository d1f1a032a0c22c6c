// What a contract needs of the application's router. Fastify makes it before it knows of a contract, and has
// no way to change its options later.

import type { FastifyInstance } from 'fastify'
import FindMyWay from 'find-my-way'
import type { Contract } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'

/** Of find-my-way 9.10, in part; `test/mount/router.ts` fails once Fastify has another one. */
interface Router {
  maxParamLength: number
  querystringParser(query: string): Readonly<Record<string, unknown>>
}

const prototype: { hasRoute(this: Router): boolean } = FindMyWay.prototype

/**
 * Lets path parameters be as long as the contract's URLs: by default Fastify refuses one of 101 characters.
 * @throws {ContractError} if the router takes other paths for the contract's, or reads queries in another way
 */
export function prepareRouter(app: FastifyInstance, { limits }: Contract): void {
  const router = routerOf(app)
  const unfit = unfitOptions(app, router)
  if (unfit.length > 0) throw new ContractError(unfit.map((text) => `Fastify's ${text}`).join('\n'))
  if (router !== undefined) router.maxParamLength = Math.max(router.maxParamLength, limits.url)
  else if (paramLengthMax(app) < limits.url) throw new ContractError(shortParameters(limits.url))
}

// Another copy of find-my-way, so that the router is out of reach.
function shortParameters(max: number): string {
  const option = `routerOptions: { maxParamLength: ${max} }`
  return `Fastify's maxParamLength is below the length of the contract's URLs. Make it with: ${option}`
}

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

const paths =
  'the paths of a contract are compared as they are, and links are relative to them. Leave it out.'

function unfitOptions(app: FastifyInstance, router: Router | undefined): string[] {
  // Fastify applies one that is given beside `routerOptions`, where it publishes the default of it, too.
  const { routerOptions, ...options } = optionsOf(app)
  const is = (name: keyof Options, value: boolean) => [options[name], routerOptions?.[name]].includes(value)
  const isOn = (name: keyof Options) => is(name, true)
  return [
    ...(is('caseSensitive', false) ? [`caseSensitive is false: ${paths}`] : []),
    ...(isOn('ignoreTrailingSlash') ? [`ignoreTrailingSlash is true: ${paths}`] : []),
    ...(isOn('ignoreDuplicateSlashes') ? [`ignoreDuplicateSlashes is true: ${paths}`] : []),
    ...(isOn('useSemicolonDelimiter')
      ? ['useSemicolonDelimiter is true: in a contract, a semicolon is a part of the path. Leave it out.']
      : []),
    ...(router === undefined || readsQueries(router)
      ? []
      : ['querystringParser is another one: a contract says how its parameters are read. Leave it out.']),
  ]
}

function readsQueries(router: Router): boolean {
  const { 'a[b]': texts, ...more } = router.querystringParser('a[b]=1&a[b]=x,y')
  return String(texts) === '1,x,y' && Object.keys(more).length === 0
}

interface Options {
  readonly maxParamLength: number
  readonly caseSensitive: boolean
  readonly ignoreTrailingSlash: boolean
  readonly ignoreDuplicateSlashes: boolean
  readonly useSemicolonDelimiter: boolean
}

// Those that are given to the router are beside the others, as all were before.
function optionsOf(app: FastifyInstance): Options & { readonly routerOptions?: Partial<Options> } {
  return app.initialConfig as unknown as ReturnType<typeof optionsOf>
}

function paramLengthMax(app: FastifyInstance): number {
  const { routerOptions, maxParamLength } = optionsOf(app)
  return routerOptions?.maxParamLength ?? maxParamLength
}
