// The contract itself, for tools.

import type { FastifyInstance } from 'fastify'
import type { Contract } from '../contract/types.js'

/** Adds `/openapi.yaml` and `/openapi.json`. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  app.get('/openapi.yaml', async (_, reply) => {
    reply.type('application/yaml; charset=utf-8') // RFC 9512
    return text
  })
  app.get('/openapi.json', async () => document)
}
