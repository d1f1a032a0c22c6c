// Bodies in chunks of one byte: five times their size in framing.

import type net from 'node:net'
import { type Environment, type Report, unless } from '../environment.js'
import { canMeasureProcesses, residentBytes } from '../processes.js'
import type { Run } from './parts.js'
import { connect, within, withService } from './parts.js'

const bodyBytes = 65_000
const memoryMax = 100 * 2 ** 20
// Small enough that a process which keeps an object for each chunk runs out of it.
const smallHeap = { NODE_OPTIONS: '--max-old-space-size=256' }
// On a busy machine all of these bodies take longer than the service's default.
const patient = { REQUEST_TIMEOUT_MS: '120000' }

/** Creates pets from bodies in chunks of one byte, all at once. */
export function sendChunks(environment: Environment, count: number): Promise<Report> {
  const title = `${count} creates of ${bodyBytes} bytes in chunks of one byte, with a heap of 256 MiB`
  return withService(environment, title, { ...smallHeap, ...patient }, (run) => {
    const create = `POST /v1/pets HTTP/1.1\r\n${keyOf(environment)}${json}`
    return flood(environment, run, Array(count).fill(create), new Set(['201']))
  })
}

/** Sends such bodies with requests that are refused, most of them without a key. */
export function sendRefusedChunks(environment: Environment, count: number): Promise<Report> {
  const title = `${count} refused requests, each with ${bodyBytes} chunks of one byte`
  return withService(environment, title, { ...smallHeap, ...patient }, (run) => {
    const heads = [
      `POST /v1/pets HTTP/1.1\r\n${json}`,
      'POST /nothing HTTP/1.1\r\n',
      'PUT /v1/pets HTTP/1.1\r\n',
      `POST /v1/pets HTTP/1.1\r\n${keyOf(environment)}Content-Type: text/plain\r\n`,
    ]
    const requests = Array.from({ length: count }, (_, i) => heads[i % heads.length] ?? '')
    return flood(environment, run, requests, new Set(['401', '404', '405', '415', '429']))
  })
}

const json = 'Content-Type: application/json\r\n'
const keyOf = ({ database }: Environment) => `Authorization: Bearer ${database.key}\r\n`

async function flood(
  environment: Environment,
  { origin, pid, load }: Run,
  heads: readonly string[],
  expected: ReadonlySet<string>,
) {
  const body = oneByteChunks(JSON.stringify({ name: 'Rex', categoryId: 1 }).padEnd(bodyBytes))
  const before = residentBytes(pid)
  const sockets = await Promise.all(heads.map(() => connect(origin)))
  let grown = 0
  let othersMs = 0
  let isOver = false
  try {
    const responses = Promise.all(sockets.map((socket, i) => post(socket, heads[i] ?? '', body)))
    void responses.finally(() => {
      isOver = true
    })
    while (!isOver) {
      othersMs = Math.max(othersMs, await load.untilServed())
      grown = Math.max(grown, residentBytes(pid) - before)
    }
    const statuses = (await responses).map((response) => response.slice(9, 12) || 'no response')
    const wrong = [...new Set(statuses)].filter((each) => !expected.has(each))
    const memory = canMeasureProcesses ? `memory grew by ${Math.round(grown / 2 ** 20)} MB; ` : ''
    return {
      figures: [`${memory}others served within ${othersMs} ms`],
      violations: [
        ...unless(wrong.length === 0, `requests got ${wrong.join(', ')}`),
        ...within(environment.bounds.unnoticedMs, othersMs, 'to serve others'),
        ...unless(!(grown > memoryMax), `memory grew by ${grown} bytes`),
      ],
    }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

function oneByteChunks(payload: string): string {
  return `${[...payload].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`
}

// What the client has received when the connection closes.
async function post(socket: net.Socket, head: string, body: string): Promise<string> {
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.write(`${head}Host: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
  await new Promise((resolve) => socket.once('close', resolve))
  return received
}
