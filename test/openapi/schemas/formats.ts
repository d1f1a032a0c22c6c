import t from 'tap'
import { createAjv } from '../../../src/openapi/schemas/ajv.js'

t.test('dates and times are those of RFC 3339 that PostgreSQL can store', async (t) => {
  for (const [format, text, isTaken] of [
    ['date', '2024-02-29', true],
    ['date', '0001-01-01', true],
    ['date', '2026-02-29', false],
    ['date', '0000-01-01', false],
    ['date-time', '2016-12-31T23:59:60Z', true],
    ['date-time', '9999-12-31T23:59:59.999999-15:59', true],
    ['date-time', '2026-11-24T16:20:20Z', true],
    ['date-time', '0000-01-01T00:00:00Z', false],
    ['date-time', '2026-11-24T00:00:00+16:00', false],
    ['date-time', '2026-11-24T00:00:00-23:59', false],
    ['date-time', '2026-11-24', false],
  ] as const)
    t.equal(createAjv('json').validate({ type: 'string', format }, text), isTaken, text)
})
