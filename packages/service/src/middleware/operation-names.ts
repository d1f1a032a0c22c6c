// The names of operations in metrics and stored data: the operation ids, which are unique within a contract.
// The names of further contracts have a word before the id. Without it, metrics would add up operations of
// two contracts, and a repeated request could get the response to one of the other contract.

import type { Contract, Operation } from 'contract-engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name of an operation of a further contract. */
    operationName?: string
  }
}

/** Names the operations of all further contracts that are mounted from now on. */
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
 * Returns the name of a request's operation: `getPet`, or for a further contract `/admin getPet`.
 */
export function operationNameOf({ matched }: FastifyRequest, { id }: Operation): string {
  return matched?.config.operationName ?? id
}
