// The scenarios of `npm run faults`, shortened, with time limits for a busy machine. `npm run faults` itself
// checks the documented limits, and the share of reads that are served in time; both depend on the load of
// the machine.

import { redisIsMissing } from 'contract-service/fixtures/redis'
import { temporaryRoot } from 'contract-service/fixtures/temporary-root'
import { isNightly } from 'contract-testing/nightly'
import t, { type Test } from 'tap'
import { type Bounds, Environment, type Report } from '../scripts/faults/environment.js'
import { hasHaproxy } from '../scripts/faults/haproxy.js'
import { sendChunks, sendRefusedChunks } from '../scripts/faults/scenarios/chunks.js'
import { leaveUnread } from '../scripts/faults/scenarios/clients.js'
import {
  abandonWork,
  cutConnections,
  freezeDatabase,
  killDatabase,
  recycleConnections,
  resetConnections,
} from '../scripts/faults/scenarios/database.js'
import { failInMiddle } from '../scripts/faults/scenarios/middles.js'
import { holdMigrationLock, migrateBehindReader } from '../scripts/faults/scenarios/migrations.js'
import { floodWithoutKey } from '../scripts/faults/scenarios/neighbours.js'
import { forgetConnections, losePackets } from '../scripts/faults/scenarios/network.js'
import { restartPooler } from '../scripts/faults/scenarios/pooler.js'
import { failOverRedis, loseRedis } from '../scripts/faults/scenarios/redis.js'
import {
  failOver,
  loseStandby,
  replaceCertificate,
  stallCommits,
} from '../scripts/faults/scenarios/replication.js'
import { deploy, killService, refuseSpans, stopAmidHeads } from '../scripts/faults/scenarios/service.js'
import { loseWrites } from '../scripts/faults/scenarios/writes.js'
import { pgBouncerIsMissing } from './fixtures/pgbouncer.js'

const haproxyIsMissing = !hasHaproxy && 'no haproxy in PATH: apt-get install haproxy'

const scenarios: [
  title: string,
  scenario: (environment: Environment) => Promise<Report>,
  skip?: string | false,
][] = [
  ['the service is killed', (environment) => killService(environment, 1)],
  ['PostgreSQL is killed', (environment) => killDatabase(environment, 2)],
  ['PostgreSQL is frozen', (environment) => freezeDatabase(environment, 3_000)],
  ['connections to PostgreSQL are terminated', (environment) => cutConnections(environment, 10)],
  ['packets to PostgreSQL are lost', (environment) => losePackets(environment, 3_000)],
  ['connections to PostgreSQL are unresponsive', (environment) => forgetConnections(environment, 1)],
  [
    'the PostgreSQL primary is killed, and its standby promoted',
    (environment) => failOver(environment, 'kill'),
  ],
  [
    'the PostgreSQL primary is frozen, and its standby promoted',
    (environment) => failOver(environment, 'freeze'),
  ],
  ['a standby that requests read from is killed', (environment) => loseStandby(environment, 'kill')],
  ['a standby that requests read from is frozen', (environment) => loseStandby(environment, 'freeze')],
  ['the only synchronous standby is frozen', (environment) => stallCommits(environment, 5_000)],
  ['writes fail behind HAProxy', (environment) => loseWrites(environment, 2_000), haproxyIsMissing],
  ['statements fail in their middle', (environment) => failInMiddle(environment, 2_000)],
  ['the certificate of PostgreSQL is replaced by a wrong one', replaceCertificate],
  ['connections have a short lifetime', (environment) => recycleConnections(environment, 3_000)],
  ['clients reset their connections', (environment) => resetConnections(environment, 2)],
  ['requests wait beyond their time limit', (environment) => abandonWork(environment, 1)],
  ['Redis is killed and frozen', (environment) => loseRedis(environment, 2, 1_500), redisIsMissing],
  ['a master of a Redis cluster is killed, and its replica promoted', failOverRedis, redisIsMissing],
  [
    'PgBouncer in session mode is killed',
    (environment) => restartPooler(environment, 'session', 1),
    pgBouncerIsMissing,
  ],
  [
    'PgBouncer in transaction mode is killed',
    (environment) => restartPooler(environment, 'transaction', 1),
    pgBouncerIsMissing,
  ],
  ['the service shuts down amid header sections', (environment) => stopAmidHeads(environment, 1)],
  ['the service shuts down, and its collector refuses spans', (environment) => refuseSpans(environment, 1)],
  ['instances are replaced', (environment) => deploy(environment, 1)],
  ['callers without a valid key flood it', (environment) => floodWithoutKey(environment, 1_500)],
  ['the migration lock is held', (environment) => holdMigrationLock(environment, 1)],
  ['a migration waits for a long reader', (environment) => migrateBehindReader(environment, 2_000)],
  ['bodies arrive in chunks of one byte', (environment) => sendChunks(environment, 25)],
  ['refused bodies arrive in chunks of one byte', (environment) => sendRefusedChunks(environment, 100)],
  ['pipelined requests are left unread', (environment) => leaveUnread(environment, 100, 200, 30)],
]

// Only a hang exceeds these. The three limits that a run waits for are shorter.
const patientBounds: Bounds = {
  responseMs: 60_000,
  refusedMs: 3_000,
  standbyMs: 6_000,
  slackMs: 60_000,
  recoveryMs: 60_000,
  unnoticedMs: 60_000,
  announcementMs: 5_000,
  stopMs: 60_000,
}

const environment = await Environment.open(patientBounds, { count: 4, pauseMs: 40 })
t.teardown(() => environment.close())

// All of them in a nightly run; they mostly wait.
const tried = scenarios.filter((_, i) => isNightly || i % 3 === 0)
for (const [title, scenario, skip = false] of tried) {
  t.test(`all guarantees hold when ${title}`, { skip }, async (t) => {
    placeInMemory(t)
    const { figures, violations } = await scenario(environment)
    for (const line of figures) t.comment(line)
    t.strictSame(violations, [])
  })
}

// Places the directories of a scenario's databases in memory, because they are copied to standbys.
function placeInMemory(t: Test): void {
  const { TMPDIR } = process.env
  process.env.TMPDIR = temporaryRoot
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
}
