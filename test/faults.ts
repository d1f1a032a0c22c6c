// Each fault of `npm run faults`, in short: what becomes of the promises, however busy the machine is. How soon is a matter for
// `npm run faults`, on a quiet one.

import t from 'tap'
import { type Bounds, Environment, type Report } from '../scripts/faults/environment.js'
import {
  abandonWork,
  cutConnections,
  freezeDatabase,
  killDatabase,
  recycleConnections,
  resetConnections,
} from '../scripts/faults/scenarios/database.js'
import { forgetConnections, losePackets } from '../scripts/faults/scenarios/network.js'
import { restartPooler } from '../scripts/faults/scenarios/pooler.js'
import { failOverRedis, loseRedis } from '../scripts/faults/scenarios/redis.js'
import { failOver, loseStandby } from '../scripts/faults/scenarios/replication.js'
import { deploy, killService, killWorkers, stopService } from '../scripts/faults/scenarios/service.js'
import { canMeasureProcesses } from '../scripts/lib/processes.js'
import { pgBouncerIsMissing } from './fixtures/pgbouncer.js'
import { redisIsMissing } from './fixtures/redis.js'

const scenarios: [
  title: string,
  scenario: (environment: Environment) => Promise<Report>,
  skip?: string | false,
][] = [
  ['the service is killed', (environment) => killService(environment, 1)],
  [
    'a worker is killed',
    (environment) => killWorkers(environment, 1),
    !canMeasureProcesses && 'Linux tells which are whose',
  ],
  ['PostgreSQL is killed', (environment) => killDatabase(environment, 2)],
  ['PostgreSQL hangs', (environment) => freezeDatabase(environment, 3_000)],
  ['connections to PostgreSQL are cut', (environment) => cutConnections(environment, 10)],
  ['packets to PostgreSQL vanish', (environment) => losePackets(environment, 3_000)],
  ['connections to PostgreSQL fall silent', (environment) => forgetConnections(environment, 1)],
  [
    'the primary of PostgreSQL is killed, and its standby promoted',
    (environment) => failOver(environment, 'kill'),
  ],
  [
    'the primary of PostgreSQL hangs, and its standby is promoted',
    (environment) => failOver(environment, 'freeze'),
  ],
  ['a standby that is read from is killed', (environment) => loseStandby(environment, 'kill')],
  ['a standby that is read from hangs', (environment) => loseStandby(environment, 'freeze')],
  ['connections are to be recycled', (environment) => recycleConnections(environment, 3_000)],
  ['clients reset their connections', (environment) => resetConnections(environment, 2)],
  ['requests wait beyond their time', (environment) => abandonWork(environment, 1)],
  ['Redis is killed and hangs', (environment) => loseRedis(environment, 2, 1_500), redisIsMissing],
  ['a master of a Redis cluster is killed, and its replica promoted', failOverRedis, redisIsMissing],
  [
    'PgBouncer pools by the session, and is killed',
    (environment) => restartPooler(environment, 'session', 1),
    pgBouncerIsMissing,
  ],
  [
    'PgBouncer pools by the transaction, and is killed',
    (environment) => restartPooler(environment, 'transaction', 1),
    pgBouncerIsMissing,
  ],
  ['the service is stopped', (environment) => stopService(environment, 1)],
  ['instances are replaced', (environment) => deploy(environment, 1)],
]

// What only a hang exceeds. What is waited for is shorter: the limit to be exceeded, and the announcement.
const patientBounds: Bounds = {
  answerMs: 60_000,
  refusedMs: 3_000,
  slackMs: 60_000,
  recoveryMs: 60_000,
  unnoticedMs: 60_000,
  announcementMs: 5_000,
  stopMs: 60_000,
}

const environment = await Environment.open(patientBounds, { count: 4, pauseMs: 40 })
t.teardown(() => environment.close())

for (const [title, scenario, skip = false] of scenarios) {
  t.test(`every promise is kept when ${title}`, { skip }, async (t) => {
    const { figures, broken } = await scenario(environment)
    for (const line of figures) t.comment(line)
    t.strictSame(broken, [])
  })
}
