// What the clients of hey-api and orval do with streams. Exits with 1 at the first unexpected result.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { watchToys } from './hey-api'
import { createClient } from './hey-api/client'
import * as orval from './orval'

const types: Record<string, string> = {
  '/events': 'text/event-stream',
  '/ndjson': 'application/x-ndjson',
  '/jsonl': 'application/jsonl',
}

// Writes a toy, and goes on with another when it is told to.
let asked = 0
let open: ServerResponse | undefined
const server = createServer(({ url = '', headers }, response) => {
  asked++
  if (headers.authorization !== 'Bearer key') return void response.writeHead(401).end()
  response.writeHead(200, { 'content-type': types[url] }).write(textOf(url, 1))
  open = response
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

function textOf(url: string, id: number): string {
  return url === '/events' ? `id: ${id}\ndata: {"id":${id}}\n\n` : `{"id":${id}}\n`
}

function end(url: string): void {
  open?.end(textOf(url, 2))
}

try {
  await heyApi()
  await heyApiRefused()
  for (const [url, read, streams] of [
    ['/events', orval.watchToys, false],
    ['/ndjson', orval.listNdjson, true],
    ['/jsonl', orval.listJsonl, false],
  ] as const)
    await orvalReads(url, read, streams)
} finally {
  server.closeAllConnections()
  server.close()
}

async function heyApi(): Promise<void> {
  asked = 0
  const { stream } = await watchToys({ client: createClient({ baseUrl, auth: 'key' }) })
  const first = await stream.next()
  end('/events')
  const rest = [await stream.next(), await stream.next()]
  const toys = [first, ...rest].map(({ value }) => value && 'id' in value && value.id)
  expect(
    'hey-api reads events as they come, and ends with the connection',
    `${toys}` === '1,2,' && asked === 1,
    toys,
  )
}

async function heyApiRefused(): Promise<void> {
  asked = 0
  const stop = new AbortController()
  const client = createClient({ baseUrl, auth: 'wrong' })
  const quickly = { client, sseDefaultRetryDelay: 1, sseMaxRetryDelay: 1 }
  const { stream } = await watchToys({ ...quickly, signal: stop.signal })
  const read = stream.next()
  while (asked < 50) await new Promise((resolve) => setTimeout(resolve, 1))
  stop.abort()
  await read
  console.log('hey-api repeats a refused request fifty times, and would go on')
  asked = 0
  const bounded = await watchToys({ ...quickly, sseMaxRetryAttempts: 3 })
  expect('sseMaxRetryAttempts ends that', (await bounded.stream.next()).done === true && asked === 3, asked)
}

async function orvalReads(
  url: string,
  read: (init: RequestInit) => Promise<unknown>,
  streams: boolean,
): Promise<void> {
  const fetched = globalThis.fetch
  globalThis.fetch = (path, init) => fetched(baseUrl + path, init)
  open = undefined
  let isRead = false
  const reading = read({ headers: { authorization: 'Bearer key' } })
    .catch(() => {}) // that of JSON Lines reads one value
    .then(() => {
      isRead = true
    })
  while (open === undefined) await new Promise((resolve) => setTimeout(resolve, 1))
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(`orval ${streams ? 'streams' : 'reads to the end'}: ${types[url]}`, isRead === streams, isRead)
  end(url)
  await reading
  globalThis.fetch = fetched
}

function expect(label: string, ok: boolean, actual: unknown): void {
  if (!ok) throw new Error(label, { cause: actual })
  console.log(label)
}
