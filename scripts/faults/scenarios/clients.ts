// Clients that do not read their responses.

import { type Environment, type Report, unless } from '../environment.js'
import { canMeasureProcesses, residentBytes } from '../processes.js'
import { connect, longestOf, within, withService } from './parts.js'

const memoryMax = 150 * 2 ** 20

/** Sends pipelined requests on many connections, reads none of the responses, and looks so many times. */
export function leaveUnread(
  environment: Environment,
  count: number,
  requests: number,
  looks: number,
): Promise<Report> {
  const title = `${count} connections with ${requests} unread requests each`
  return withService(environment, title, {}, async ({ origin, pid, load }) => {
    const auth = `Authorization: Bearer ${environment.database.key}\r\n`
    const heads = ['/docs/scalar.js HTTP/1.1\r\n', `/v1/pets HTTP/1.1\r\n${auth}`, '/nothing HTTP/1.1\r\n']
    await fetch(`${origin}/docs/scalar.js`).then((response) => response.arrayBuffer()) // compresses it
    const before = residentBytes(pid)
    const sockets = await Promise.all(Array.from({ length: count }, () => connect(origin)))
    let grown = 0
    try {
      for (const [i, socket] of sockets.entries())
        socket.pause().write(`GET ${heads[i % heads.length]}Host: x\r\n\r\n`.repeat(requests))
      const othersMs = await longestOf(looks, async () => {
        await environment.delay(20)
        grown = Math.max(grown, residentBytes(pid) - before)
        return load.untilServed()
      })
      const memory = canMeasureProcesses ? `memory grew by ${Math.round(grown / 2 ** 20)} MB; ` : ''
      return {
        figures: [`${memory}others served within ${othersMs} ms`],
        violations: [
          ...within(environment.bounds.unnoticedMs, othersMs, 'to serve others'),
          ...unless(!(grown > memoryMax), `memory grew by ${grown} bytes`),
        ],
      }
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
}
