// The names of operations in metrics and in what is stored: their ids, which are unique within a contract.
// Those of further contracts have a word before them, so that a service with one exports what it always has.
// Without it, metrics would add up operations of two contracts, and a repeated request could get the other's
// response.

import type { Contract, Operation } from 'contract-engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of an operation of another contract than the service's first. */
    operationName?: string
  }
}

/** Names the operations of all contracts that are mounted from now on beside the service's own. */
export function nameOperations(app: FastifyInstance, own: Contract): void {
  const named = new Map<string, Operation>()
  app.addHook('onRoute', ({ config, prefix }) => {
    const { operation, mounted } = config ?? {}
    if (config === undefined || operation === undefined || mounted?.contract === own) return
    const { title = '', version = '' } = mounted?.contract ?? {}
    const words = [...(prefix === own.prefix ? [] : [prefix]), title, `${title} ${version}`]
    const names = words.filter((word) => word !== '').map((word) => `${word} ${operation.id}`)
    const name = names.find((each) => (named.get(each) ?? operation) === operation) ?? operation.id
    named.set(name, operation)
    config.operationName = name
  })
}

/**
 * The name of the operation of a request: `getPet`, and of another contract than the first `/admin getPet`.
 */
export function operationNameOf({ matched }: FastifyRequest, { id }: Operation): string {
  return matched?.config.operationName ?? id
}
