// Faults, done on purpose to real processes under load, and what came of the promises. Exit codes: 0 all were kept, 1 one
// was not.

import {
  cutConnections,
  deploy,
  freezeDatabase,
  killDatabase,
  killService,
  loseRedis,
  stopService,
} from './faults/plays.js'
import { type Report, Stage } from './faults/stage.js'
import { hasRedis } from './stack/redis.js'

async function main(): Promise<number> {
  const stage = await Stage.open('build')
  let broken = 0
  const tell = ({ title, figures, broken: promises }: Report) => {
    const lines = [...figures, ...promises.map((each) => `NOT KEPT: ${each}`)]
    process.stdout.write(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
    broken += promises.length
  }
  try {
    tell(await killService(stage, 20))
    tell(await killDatabase(stage, 20))
    tell(await freezeDatabase(stage, 6_000))
    tell(await cutConnections(stage, 50))
    if (hasRedis) tell(await loseRedis(stage, 10, 3_000))
    else process.stdout.write('Redis: not tried, for there is no redis-server in PATH\n')
    tell(await stopService(stage, 10))
    tell(await deploy(stage, 8))
  } finally {
    await stage.close()
  }
  process.stdout.write(broken === 0 ? 'every promise was kept\n' : `${broken} promises were not kept\n`)
  return broken === 0 ? 0 : 1
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exitCode = 1
  },
)
