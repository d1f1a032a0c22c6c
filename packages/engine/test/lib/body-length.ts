// A request has a body or not, in each way in which it can say so, and by the same rule for each operation.

import { contractWith, done, startEngine } from 'contract-testing/engine'
import { sendRaw } from 'contract-testing/send-raw'
import t from 'tap'

const content = { 'application/json': { schema: { type: 'object' } } }
const file = { 'application/octet-stream': { schema: { type: 'string', format: 'binary', maxLength: 100 } } }
const contract = await contractWith({
  required: { requestBody: { required: true, content }, responses: done },
  optional: { requestBody: { content }, responses: done },
  none: { responses: done },
  change: { method: 'delete', path: '/none', responses: done },
  upload: {
    requestBody: { required: true, content: file },
    'x-limits': { bodyBytes: 1_000_000 },
    responses: done,
  },
})
const bodies: unknown[] = []
const ids = [...contract.operations.keys()]
const { origin } = await startEngine(
  t,
  contract,
  Object.fromEntries(
    ids.map((id) => [
      id,
      async ({ body }: { body: unknown }) => {
        bodies.push(body)
        return { status: 204 }
      },
    ]),
  ),
)

const empty: readonly (readonly [line: string, body: string])[] = [
  ['X: 1', ''],
  ['Content-Length: 0', ''],
  ['Content-Length: 000', ''],
  ['Transfer-Encoding: chunked', '0\r\n\r\n'],
]
const others = ['X: 2', 'Content-Type: text/plain', 'Content-Type: json', 'Content-Encoding: gzip']

for (const [length, body] of empty)
  for (const other of others)
    t.test(`a request with ${length} and ${other} has no body`, async (t) => {
      const send = (target: string) =>
        sendRaw(
          origin,
          `${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${length}\r\n${other}\r\n\r\n${body}`,
        )
      for (const target of ['POST /optional', 'POST /none', 'DELETE /none']) {
        t.match(await send(target), /^HTTP\/1.1 204 /, target)
        t.equal(bodies.pop(), undefined)
      }
      for (const target of ['POST /required', 'POST /upload'])
        t.match(await send(target), /^HTTP\/1.1 400 .*"body is required"/s, target)
    })
