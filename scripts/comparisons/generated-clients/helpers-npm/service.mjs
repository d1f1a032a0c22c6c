// Answers with what the service has answered, in the order that a probe asks for.

import { createServer } from 'node:http'
import { happened } from './time.mjs'

const { URL: url = '', KEY: key = '', FREE_KEY: freeKey = '' } = process.env
const ofConnection = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']

async function record(token) {
  const response = await fetch(`${url}/pets?limit=1`, { headers: { authorization: `Bearer ${token}` } })
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !ofConnection.includes(name)))
  return { status: response.status, headers, body: await response.text() }
}

/** A page of the service. */
export const page = await record(key)

let refusal = await record(freeKey)
while (refusal.status === 200) refusal = await record(freeKey)

/** The 429 of the service, or an error with another status that has `Retry-After`: 409 or 503. */
export function refusedWith(status, seconds) {
  return { ...refusal, status, headers: { ...refusal.headers, 'retry-after': String(seconds) } }
}

/**
 * Runs `act` with the address of a server, and returns what was requested, and when.
 * @param answer for the nth request, from 1: an answer, or undefined to cut the connection
 */
export async function servedBy(answer, act) {
  const requests = []
  const server = createServer((request, response) => {
    happened()
    requests.push({ at: Date.now() / 1000, method: request.method, headers: request.headers })
    request.resume().on('end', () => {
      const answered = answer(requests.length, request)
      happened()
      if (answered === undefined) request.socket.destroy()
      else response.writeHead(answered.status, answered.headers).end(answered.body)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return { requests, result: await act(`http://127.0.0.1:${server.address().port}/v1/pets`) }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
