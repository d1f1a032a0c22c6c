// The production application with a contract of large bodies, as a process of its own: its memory is that of the
// service alone. No operation of it needs the database, so there is none.

import path from 'node:path'
import { pino } from 'pino'
import postgres from 'postgres'
import { type AppParts, buildApp } from '../../src/app.js'
import { apiKeys } from '../../src/auth/api-keys.js'
import { readServiceContract } from '../../src/auth/plans.js'
import { readConfig } from '../../src/config.js'
import { createPools, type Make } from '../../src/database/pools.js'
import { projectRoot } from '../../src/lib/paths.js'
import { createServices } from '../../src/services.js'

interface Upload {
  readonly body: AsyncIterable<Uint8Array>
}

const count = async (body: AsyncIterable<Uint8Array>) => {
  let length = 0
  for await (const chunk of body) length += chunk.length
  return { status: 200, body: length }
}

const handlers = {
  addPhoto: ({ body }: Upload) => count(body),
  addOpenPhoto: ({ body }: Upload) => count(body),
  addForm: ({ body }: { body: { photo: Upload['body'] } }) => count(body.photo),
  addAlbum: async ({ body }: { body: Uint8Array }) => ({ status: 200, body: body.length }),
}

const contract = await readServiceContract(path.join(projectRoot, 'test/fixtures/uploads.yaml'))
const config = readConfig(process.env)
const log = pino({ level: 'silent' })
const make = ((options: object) => postgres('postgres://nobody@127.0.0.1:1/none', options)) as Make
const pools = createPools(make, config.handlerTimeoutMs, log)
const services = await createServices({ config, contract, pools, log })
const app = await buildApp({
  ...{ config, contract, pools, log, services },
  handlers: handlers as unknown as AppParts['handlers'], // of another contract
  schemes: { key: apiKeys() },
})
const origin = await app.listen({ host: '127.0.0.1', port: 0 })
process.on('message', () => process.send?.({ rss: process.memoryUsage().rss }))
process.send?.({ origin })
