import { Readable } from 'node:stream'
import { rangeOf } from 'contract-engine'
import { generateOperations } from 'contract-engine/generate'
import { contractWith, startEngine } from 'contract-testing/engine'
import t from 'tap'
import type { RangeHeaders, Validators } from '../../../src/serve/response/ranges.js'

const bytes = Buffer.from('0123456789')
const lastModified = new Date('2026-11-26T12:00:00.500Z')
const validators = { etag: '"v1"', lastModified }

const cases: [title: string, headers: RangeHeaders, status: number, start: number, end: number][] = [
  ['no range', {}, 200, 0, 10],
  ['the first bytes', { range: 'bytes=0-3' }, 206, 0, 4],
  ['one byte', { range: 'bytes=9-9' }, 206, 9, 10],
  ['all that follows', { range: 'bytes=4-' }, 206, 4, 10],
  ['the last bytes', { range: 'bytes=-3' }, 206, 7, 10],
  ['more last bytes than there are', { range: 'bytes=-30' }, 206, 0, 10],
  ['an end beyond the end', { range: 'bytes=8-99999999999999999999999' }, 206, 8, 10],
  ['a unit in other letters', { range: 'Bytes= 1-2 ' }, 206, 1, 3],
  ['a range beyond the end', { range: 'bytes=10-' }, 416, 0, 0],
  ['no last bytes', { range: 'bytes=-0' }, 416, 0, 0],
  ['several ranges', { range: 'bytes=0-1,3-4' }, 200, 0, 10],
  ['another unit', { range: 'lines=0-1' }, 200, 0, 10],
  ['an invalid range', { range: 'bytes=3-1' }, 200, 0, 10],
  ['no numbers', { range: 'bytes=-' }, 200, 0, 10],
  ['a sign', { range: 'bytes=+1-2' }, 200, 0, 10],
  ['the tag that the client has', { range: 'bytes=1-2', 'if-range': '"v1"' }, 206, 1, 3],
  ['another tag', { range: 'bytes=1-2', 'if-range': '"v2"' }, 200, 0, 10],
  ['a weak tag', { range: 'bytes=1-2', 'if-range': 'W/"v1"' }, 200, 0, 10],
  ['the time', { range: 'bytes=1-2', 'if-range': 'Thu, 26 Nov 2026 12:00:00 GMT' }, 206, 1, 3],
  ['a later time', { range: 'bytes=1-2', 'if-range': 'Thu, 26 Nov 2026 12:00:01 GMT' }, 200, 0, 10],
  ['the time in another form', { range: 'bytes=1-2', 'if-range': '2026-11-26T12:00:00Z' }, 200, 0, 10],
  ['no time', { range: 'bytes=1-2', 'if-range': 'soon' }, 200, 0, 10],
]

for (const [title, headers, status, start, end] of cases) {
  t.test(`for ${title} it is ${status}`, async (t) => {
    const range = rangeOf(headers, bytes.length, validators)
    t.equal(range.status, status)
    if (range.status !== 416) t.match(range, { start, end, headers: { 'Content-Length': end - start } })
    if (range.status === 206) t.equal(range.headers['Content-Range'], `bytes ${start}-${end - 1}/10`)
    if (range.status === 416) t.equal(range.headers['Content-Range'], 'bytes */10')
  })
}

t.test('without validators, If-Range meets nothing; of nothing, no range is satisfiable', async (t) => {
  const ofNothing: Validators = {}
  t.equal(rangeOf({ range: 'bytes=1-2', 'if-range': '"v1"' }, 10, ofNothing).status, 200)
  t.equal(rangeOf({ range: 'bytes=0-' }, 0).status, 416)
  t.match(rangeOf({}, 0), { status: 200, start: 0, end: 0 })
})

const header = (name: string) => ({ in: 'header', name, schema: { type: 'string' } })
const file = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
const accepts = { 'Accept-Ranges': { required: true, schema: { type: 'string', const: 'bytes' } } }
const length = { 'Content-Length': { schema: { type: 'integer' } } }
const part = { 'Content-Range': { required: true, schema: { type: 'string' } } }
const contract = await contractWith({
  getFile: {
    method: 'get',
    parameters: [header('Range'), header('If-Range')],
    responses: {
      200: { description: 'All.', headers: { ...accepts, ...length }, content: file },
      206: { description: 'A part.', headers: { ...accepts, ...length, ...part }, content: file },
      416: { description: 'Beyond the end.', headers: { ...accepts, ...part } },
    },
  },
})

t.test(
  'a handler sends the part of a stream that GET asks for, with its length; HEAD asks for no part',
  async (t) => {
    const engine = await startEngine(t, contract, {
      getFile: async ({ headers }) => {
        const range = rangeOf(headers as RangeHeaders, bytes.length)
        if (range.status === 416) return range
        const { status, start, end, headers: own } = range
        return { status, headers: own, body: Readable.from([bytes.subarray(start, end)]) }
      },
    })
    const ask = (method: string, range?: string) =>
      fetch(`${engine.origin}/getFile`, { method, headers: range === undefined ? {} : { range } })
    for (const [method, range, status, length, text] of [
      ['GET', undefined, 200, '10', '0123456789'],
      ['GET', 'bytes=2-4', 206, '3', '234'],
      ['HEAD', undefined, 200, '10', ''],
      ['HEAD', 'bytes=2-4', 200, '10', ''],
      ['HEAD', 'bytes=20-', 200, '10', ''],
    ] as const) {
      const response = await ask(method, range)
      t.match(response, { status })
      t.equal(response.headers.get('content-length'), length)
      t.equal(response.headers.get('accept-ranges'), 'bytes')
      t.equal(response.headers.get('content-range'), status === 200 ? null : 'bytes 2-4/10')
      t.equal(await response.text(), text)
    }
    const beyond = await ask('GET', 'bytes=20-')
    t.match(beyond, { status: 416 })
    t.equal(beyond.headers.get('content-range'), 'bytes */10')
    t.strictSame(engine.log, [])
  },
)

t.test('the types of the headers are those of the helper', async (t) => {
  const text = generateOperations(contract)
  t.match(
    text,
    /status: 206; headers: \{ 'Accept-Ranges': .*'Content-Length'\?: .*'Content-Range': string \}; body: .*ByteStream/,
  )
})
