import type { IncomingMessage } from 'node:http'
import { type Logger, pino } from 'pino'
import t from 'tap'
import { createRequestLogger, RequestLog, type RequestLogger } from '../../src/http/request-log.js'
import { logBounds } from '../../src/lib/log-bounds.js'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

function logTo(lines: string[], options = {}): Logger {
  const timestamp = () => ',"time":1'
  return pino({ ...logBounds, timestamp, ...options }, { write: (line: string) => void lines.push(line) })
}

function loggerOf(log: Logger, requestId: string, headers: object = {}) {
  return createRequestLogger(log, { requestId }, {}, { headers } as IncomingMessage) as RequestLogger
}

const fields = { method: 'GET', route: '/v1/pets/:petId', status: 200, ms: 1.25, keyId: '7' }
const json = ',"method":"GET","route":"/v1/pets/:petId","status":200,"ms":1.25,"keyId":"7"'

const requests: [title: string, requestId: string, headers: object][] = [
  ['a request', 'a5f4-1', {}],
  ['one with a trace', 'a5f4-1', { traceparent }],
  ['one with a trace that is none', 'a5f4-1', { traceparent: '"}' }],
]

for (const [title, requestId, headers] of requests)
  t.test(`a line of JSON is the same as that of its fields: ${title}`, async (t) => {
    const lines: string[] = []
    const log = logTo(lines).child({ worker: 'w"1' })
    const logger = loggerOf(log, requestId, headers)
    logger.info(fields, 'request')
    t.equal(logger.infoOfJson(json, 'request'), true)
    t.equal(lines.length, 2)
    t.equal(lines[1], lines[0])
  })

const refused: [title: string, log: (lines: string[]) => Logger, requestId: string][] = [
  ['an id with a quote', (lines) => logTo(lines), 'a"b'],
  ['an id with a backslash', (lines) => logTo(lines), 'a\\b'],
  ['an id beyond ASCII', (lines) => logTo(lines), 'ä'],
  ['an id with a line feed', (lines) => logTo(lines), 'a\nb'],
  ['a level above', (lines) => logTo(lines, { level: 'warn' }), 'a5f4'],
  ['a logger of another kind', () => ({ info() {} }) as never, 'a5f4'],
]

for (const [title, logFor, requestId] of refused)
  t.test(`a line of JSON is not written, and its caller told: ${title}`, async (t) => {
    const lines: string[] = []
    t.equal(loggerOf(logFor(lines), requestId).infoOfJson(json, 'request'), false)
    t.strictSame(lines, [])
  })

t.test('a line of JSON follows the level of the log, as it changes', async (t) => {
  const lines: string[] = []
  const log = logTo(lines)
  const logger = loggerOf(log.child({}), 'a5f4')
  log.level = 'error'
  t.equal(logger.infoOfJson(json, 'request'), false)
  log.level = 'debug'
  t.equal(logger.infoOfJson(json, 'request'), true)
})

t.test('a request that logs nothing but its own line has no logger of pino', async (t) => {
  const lines: string[] = []
  const log = logTo(lines)
  const made: object[] = []
  const parent = Object.assign(Object.create(log), {
    child: (bindings: object) => {
      made.push(bindings)
      return log.child(bindings)
    },
  })
  const logger = loggerOf(parent, 'a5f4')
  logger.infoOfJson(json, 'request')
  t.strictSame(made, [])
  logger.warn({ pet: 1 }, 'odd')
  logger.child({ part: 'b' }).error('worse')
  t.strictSame(made, [{ requestId: 'a5f4' }, { requestId: 'a5f4', part: 'b' }])
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 30, requestId: 'a5f4', ...fields, msg: 'request' },
      { level: 40, requestId: 'a5f4', pet: 1, msg: 'odd' },
      { level: 50, requestId: 'a5f4', part: 'b', msg: 'worse' },
    ],
  )
})

t.test(
  'of a request whose line nobody reads none is made, nor a logger; what fails a response is told',
  async (t) => {
    const lines: string[] = []
    const log = logTo(lines, { level: 'warn' })
    const made: object[] = []
    const parent = Object.assign(Object.create(log), {
      child: (bindings: object) => {
        made.push(bindings)
        return log.child(bindings)
      },
    })
    const requestLog = new RequestLog(false)
    const request = { log: loggerOf(parent, 'a5f4'), method: 'GET' } as never // no other properties are read
    const reply = { statusCode: 200, elapsedTime: 1 } as never
    requestLog.requestCompleted(undefined, request, reply)
    t.strictSame([made, lines], [[], []])
    requestLog.requestCompleted(new Error('it broke'), request, reply)
    t.equal(made.length, 1)
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ level: 40, requestId: 'a5f4', method: 'GET', status: 200, msg: 'response failed' }],
    )
  },
)
