// Each fault of `npm run faults`, in short: what becomes of the promises, however busy the machine is. How soon is a matter for
// `npm run faults`, on a quiet one.

import t from 'tap'
import {
  abandonWork,
  cutConnections,
  deploy,
  freezeDatabase,
  killDatabase,
  killService,
  losePackets,
  loseRedis,
  recycleConnections,
  resetConnections,
  stopService,
} from '../scripts/faults/plays.js'
import { type Bounds, type Report, Stage } from '../scripts/faults/stage.js'
import { redisIsMissing } from './fixtures/redis.js'

const plays: [title: string, play: (stage: Stage) => Promise<Report>, skip?: string | false][] = [
  ['the service is killed', (stage) => killService(stage, 2)],
  ['PostgreSQL is killed', (stage) => killDatabase(stage, 2)],
  ['PostgreSQL hangs', (stage) => freezeDatabase(stage, 3_000)],
  ['connections to PostgreSQL are cut', (stage) => cutConnections(stage, 10)],
  ['packets to PostgreSQL vanish', (stage) => losePackets(stage, 3_000)],
  ['connections are to be recycled', (stage) => recycleConnections(stage, 3_000)],
  ['clients reset their connections', (stage) => resetConnections(stage, 2)],
  ['requests wait beyond their time', (stage) => abandonWork(stage, 1)],
  ['Redis is killed and hangs', (stage) => loseRedis(stage, 2, 500), redisIsMissing],
  ['the service is stopped', (stage) => stopService(stage, 2)],
  ['instances are replaced', (stage) => deploy(stage, 2)],
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

const stage = await Stage.open('sources', patientBounds)
t.teardown(() => stage.close())

for (const [title, play, skip = false] of plays) {
  t.test(`every promise is kept when ${title}`, { skip }, async (t) => {
    const { figures, broken } = await play(stage)
    for (const line of figures) t.comment(line)
    t.strictSame(broken, [])
  })
}
