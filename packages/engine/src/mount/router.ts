// What a contract needs of the application's router. Fastify creates the router before it knows a contract,
// and offers no way to change the router's options later.

import type { FastifyInstance } from 'fastify'
import FindMyWay from 'find-my-way'
import type { Contract } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'

/**
 * A part of the router of find-my-way 9.10. `test/mount/router.ts` fails once Fastify uses another version.
 */
interface Router {
  maxParamLength: number
  querystringParser(query: string): Readonly<Record<string, unknown>>
}

const prototype: { hasRoute(this: Router): boolean } = FindMyWay.prototype

/**
 * Lets path parameters be as long as the contract's URLs: by default, Fastify refuses a parameter of 101
 * characters.
 * @throws {ContractError} if the router matches other paths than the contract's, or parses queries
 * differently
 */
export function prepareRouter(app: FastifyInstance, { limits }: Contract): void {
  const router = routerOf(app)
  const unfit = unfitOptions(app, router)
  if (unfit.length > 0) throw new ContractError(unfit.map((text) => `Fastify's ${text}`).join('\n'))
  if (router !== undefined) router.maxParamLength = Math.max(router.maxParamLength, limits.url)
  else if (paramLengthMax(app) < limits.url) throw new ContractError(shortParameters(limits.url))
}

// Used if the application's Fastify has another copy of find-my-way, so that its router cannot be reached.
function shortParameters(max: number): string {
  const option = `routerOptions: { maxParamLength: ${max} }`
  return `Fastify's maxParamLength is below the length of the contract's URLs. Make it with: ${option}`
}

// Fastify does not expose its router, but calls `hasRoute` on it: a temporary `hasRoute` notes its `this`.
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
  // Fastify applies an option beside `routerOptions`, too, and then publishes the option's default in
  // `routerOptions`.
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

// `routerOptions` is new in Fastify; before, these options stood beside all others, where they still work.
function optionsOf(app: FastifyInstance): Options & { readonly routerOptions?: Partial<Options> } {
  return app.initialConfig as unknown as ReturnType<typeof optionsOf>
}

function paramLengthMax(app: FastifyInstance): number {
  const { routerOptions, maxParamLength } = optionsOf(app)
  return routerOptions?.maxParamLength ?? maxParamLength
}
