// A future version of the service: its responses have a field, a status and an error code unknown today.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const animals = [{ id: 1, name: 'Rex', categoryId: 3, status: 'reserved', bornOn: '2030-01-01' }]
const refusal = { code: 'pet_reserved', message: 'The animal is reserved.', status: 404, until: '2030-01-02' }

/** Starts a server that lists one animal and responds 404 to all other requests. */
export async function startFutureService(): Promise<{ readonly origin: string; close(): void }> {
  const server = createServer(({ url = '' }, response) => {
    const isList = /\/pets(\?|$)/.test(url)
    response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify(isList ? animals : refusal))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { origin: `http://127.0.0.1:${port}`, close }
}
