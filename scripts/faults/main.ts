// Faults, done on purpose to real processes under load, and what came of the promises.

import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { hasRedis } from '../lib/redis.js'
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
} from './plays.js'
import { promisedBounds, type Report, Stage } from './stage.js'

const usage = `Usage: npm run faults

Starts services, a PostgreSQL, and a Redis where there is a redis-server; kills, freezes and replaces them under load, about three
minutes long, and says what became of every request. Nothing else on this machine is touched.

  --help  this

Examples:
  npm run faults

Exit codes: 0 every promise was kept, 1 one was not, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  parseArgs({ args: [...args] })
  const stage = await Stage.open('build', promisedBounds, interruption)
  let broken = 0
  const tell = async ({ title, figures, broken: promises }: Report) => {
    const lines = [...figures, ...promises.map((each) => `NOT KEPT: ${each}`)]
    await print(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
    broken += promises.length
  }
  try {
    await tell(await killService(stage, 20))
    await tell(await killDatabase(stage, 20))
    await tell(await freezeDatabase(stage, 6_000))
    await tell(await cutConnections(stage, 50))
    await tell(await losePackets(stage, 6_000))
    await tell(await recycleConnections(stage, 6_000))
    await tell(await resetConnections(stage, 10))
    await tell(await abandonWork(stage, 3))
    if (hasRedis) await tell(await loseRedis(stage, 10, 3_000))
    else await print('Redis: not tried, for there is no redis-server in PATH\n')
    await tell(await stopService(stage, 10))
    await tell(await deploy(stage, 8))
  } finally {
    await stage.close()
  }
  await print(broken === 0 ? 'every promise was kept\n' : `${broken} promises were not kept\n`)
  return broken === 0 ? 0 : 1
}

runCommand(usage, main)
