import { pino } from 'pino'
import t from 'tap'
import { logBounds } from '../../src/lib/log-bounds.js'
import { boundedText, explain } from '../../src/lib/operator-error.js'

const lines: string[] = []
const log = pino({ level: 'debug', ...logBounds }, { write: (line: string) => void lines.push(line) })

const long = 'x'.repeat(1_000_000)
const beginning = `${'x'.repeat(4096)}… (1,000,000 characters)`

// Logs the fields, and returns the line, parsed.
function logged(fields: object): Record<string, unknown> {
  log.warn(fields, 'a message')
  const line = lines.at(-1) ?? ''
  t.ok(line.length < 40_000, `a line of ${line.length} characters`)
  return JSON.parse(line)
}

t.test('a line has the beginning of a text that is too long, and all of others', async (t) => {
  t.match(logged({ reason: long, a: 1, none: null, b: 2n > 1n }), {
    reason: beginning,
    a: 1,
    none: null,
    b: true,
  })
  t.match(logged({ reason: 'x'.repeat(4096), at: new Date(0), list: ['a'], of: { b: 'c' } }), {
    ...{ reason: 'x'.repeat(4096), at: '1970-01-01T00:00:00.000Z', list: ['a'], of: { b: 'c' } },
  })
  t.match(logged({ list: [long], of: { text: long } }), { list: [beginning], of: { text: beginning } })
  t.equal((logged({ list: Array(1000).fill('a') }).list as unknown[]).length, 100)
})

t.test('so has that of an error, in its message, its causes and what PostgreSQL adds', async (t) => {
  const cause = Object.assign(new Error(long), { detail: long, code: '22P02' })
  const { err } = logged({ err: new Error('failed', { cause }) })
  t.match(err, {
    type: 'Error',
    message: /^failed: x{4088}… \(1,000,008 characters\)$/,
    stack: /^Error: failed\n/,
  })
  t.match(logged({ err: cause }).err, { message: beginning, detail: beginning, code: '22P02' })
  t.match(logged({ err: new AggregateError([cause], 'several') }).err, {
    aggregateErrors: [{ message: beginning }],
  })
  log.child({ requestId: 'a' }).error(cause, 'of a child')
  t.match(JSON.parse(lines.at(-1) ?? ''), { requestId: 'a', err: { message: beginning } })
})

t.test('so has what a program prints of an error', async (t) => {
  t.equal(boundedText('short'), 'short')
  const error = Object.assign(new Error(long), { name: 'PostgresError' })
  t.equal(explain(error), `The database reports: ${beginning}`)
  t.ok(explain(new Error(long)).length < 5000)
})
