// Each fault of `npm run faults`, in short.

import t from 'tap'
import {
  cutConnections,
  deploy,
  freezeDatabase,
  killDatabase,
  killService,
  loseRedis,
  stopService,
} from '../scripts/faults/plays.js'
import { type Report, Stage } from '../scripts/faults/stage.js'
import { redisIsMissing } from './fixtures/redis.js'

const plays: [title: string, play: (stage: Stage) => Promise<Report>, skip?: string | false][] = [
  ['the service is killed', (stage) => killService(stage, 2)],
  ['PostgreSQL is killed', (stage) => killDatabase(stage, 2)],
  ['PostgreSQL hangs', (stage) => freezeDatabase(stage, 3_000)],
  ['connections to PostgreSQL are cut', (stage) => cutConnections(stage, 10)],
  ['Redis is killed and hangs', (stage) => loseRedis(stage, 2, 500), redisIsMissing],
  ['the service is stopped', (stage) => stopService(stage, 2)],
  ['instances are replaced', (stage) => deploy(stage, 2)],
]

const stage = await Stage.open('sources')
t.teardown(() => stage.close())

for (const [title, play, skip = false] of plays) {
  t.test(`every promise is kept when ${title}`, { skip }, async (t) => {
    const { figures, broken } = await play(stage)
    for (const line of figures) t.comment(line)
    t.strictSame(broken, [])
  })
}
