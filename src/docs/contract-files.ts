// The contract itself, for tools.

import type { FastifyInstance } from 'fastify'
import { stringify } from 'lossless-json'
import type { Contract } from '../contract/types.js'
import { kept, sendAsset, toAsset } from './assets.js'

/** Adds `/openapi.yaml` (RFC 9512) and `/openapi.json`. */
export function addContractFiles(app: FastifyInstance, { text, document }: Contract): void {
  const yaml = kept(() => toAsset('application/yaml; charset=utf-8', Buffer.from(text)))
  const json = kept(() =>
    toAsset('application/json; charset=utf-8', Buffer.from(String(stringify(document)))),
  )
  app.get('/openapi.yaml', async (request, reply) => sendAsset(request, reply, await yaml()))
  app.get('/openapi.json', async (request, reply) => sendAsset(request, reply, await json()))
}
