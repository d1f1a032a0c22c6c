// The contract itself, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import type { Contract } from '../contract/types.js'

/** Adds `/openapi.yaml` and `/openapi.json`. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  app.get('/openapi.yaml', async (_, reply) => {
    reply.type('application/yaml; charset=utf-8') // RFC 9512
    return text
  })
  const json = stringify(document)
  app.get('/openapi.json', async (_, reply) => {
    reply.type('application/json; charset=utf-8')
    return json
  })
}
