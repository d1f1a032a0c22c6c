// Time limits of operations that other limits cut short.

import t from 'tap'
import { stringify } from 'yaml'
import { readServiceContract } from '../../src/auth/plans.js'
import { readConfig } from '../../src/config.js'
import { timeWarnings } from '../../src/process/times.js'

const read = (timeoutMs?: number) =>
  readServiceContract('openapi.yaml', async () => {
    const report = { operationId: 'report', summary: 'x', responses: { 204: { description: 'Done.' } } }
    const limits = timeoutMs === undefined ? {} : { 'x-limits': { timeoutMs } }
    const paths = { '/report': { get: { ...report, ...limits } } }
    return stringify({ openapi: '3.1.0', info: { title: 'Reports', version: '1' }, paths })
  })

const ofStatement = 'GET /report: timeoutMs is 20000: a statement still has 2000 ms, by HANDLER_TIMEOUT_MS'
const ofShutdown =
  'GET /report: timeoutMs is 20000: a shutdown ends its requests after SHUTDOWN_TIMEOUT_MS, 15000'

const cases: [
  title: string,
  timeoutMs: number | undefined,
  env: Record<string, string>,
  warnings: string[],
][] = [
  ['none without a time of its own', undefined, {}, []],
  ['none of one that fits', 10_000, { SHUTDOWN_TIMEOUT_MS: '10000' }, []],
  ['one whose statements are no longer', 20_000, { SHUTDOWN_TIMEOUT_MS: '20000' }, [ofStatement]],
  [
    'one that a shutdown ends',
    20_000,
    { HANDLER_TIMEOUT_MS: '15000' },
    [ofShutdown, ofStatement.replace('2000 ms', '3000 ms')],
  ],
  [
    'the time of all operations',
    20_000,
    { HANDLER_TIMEOUT_MS: '30000' },
    [
      'HANDLER_TIMEOUT_MS is 30000: a shutdown ends its requests after SHUTDOWN_TIMEOUT_MS, 15000',
      ofShutdown,
    ],
  ],
]

for (const [title, timeoutMs, env, warnings] of cases)
  t.test(`warnings of times: ${title}`, async (t) => {
    t.strictSame(timeWarnings(readConfig(env), await read(timeoutMs)), warnings)
  })
