import { PassThrough } from 'node:stream'
import t from 'tap'
import type { RequestError } from '../../../src/index.js'
import { readBody } from '../../../src/serve/request/body.js'
import { BodyMemory } from '../../../src/serve/request/body-memory.js'

const bodyBytes = 10

function read(payload: PassThrough, length?: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) =>
    readBody(
      payload,
      length,
      { max: bodyBytes, memory: new BodyMemory(), onHeld: () => {} },
      (error, body) => (error ? reject(error) : resolve(body)),
    ),
  )
}

t.test('a body is copied as it arrives, so that no chunk is kept', async (t) => {
  const payload = new PassThrough()
  const body = read(payload)
  for (const byte of '0123456789') {
    const chunk = Buffer.from(byte)
    payload.write(chunk)
    chunk.fill('x') // reuses the memory, as Node may
  }
  payload.end()
  t.equal(String(await body), '0123456789')
})

t.test('a body may be empty, as long as the limit, or text', async (t) => {
  for (const chunks of [
    [],
    [Buffer.from('0123456789')],
    ['é', 'é'],
    [Buffer.from('0'), Buffer.from('12345')],
  ]) {
    const payload = new PassThrough({ objectMode: true })
    const body = read(payload, 10)
    for (const chunk of chunks) payload.write(chunk)
    payload.end()
    t.equal(String(await body), chunks.join(''))
  }
})

t.test('a body beyond the limit is refused, and read no further', async (t) => {
  const payload = new PassThrough()
  const body = read(payload)
  for (let i = 0; i <= bodyBytes; i++) payload.write('x')
  await t.rejects(body, { code: 'body_too_large', message: 'The body is longer than 10 bytes.' })
  payload.write('x')
  t.equal(payload.readableFlowing, false)
  t.strictSame(
    payload.eventNames().filter((name) => name === 'data'),
    [],
  )
})

t.test('a body is refused for its length before it is read', async (t) => {
  const payload = new PassThrough()
  await t.rejects(read(payload, 11), { code: 'body_too_large' })
  t.equal(payload.readableFlowing, null)
})

t.test('a body that fails is malformed, unless its stream has another status', async (t) => {
  for (const [error, statusCode] of [
    [new Error('unexpected end of file'), 400],
    [Object.assign(new Error('too large'), { statusCode: 413 }), 413],
  ] as const) {
    const payload = new PassThrough()
    const body = read(payload)
    payload.destroy(error)
    const thrown = await body.catch((caught: RequestError) => caught)
    t.equal(thrown, error)
    t.equal((thrown as RequestError).statusCode, statusCode)
  }
})
