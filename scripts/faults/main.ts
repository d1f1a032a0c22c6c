// Faults, done on purpose to real processes under load, and what came of the promises.

import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { hasPgBouncer } from '../lib/pgbouncer.js'
import { canMeasureProcesses } from '../lib/processes.js'
import { hasRedis } from '../lib/redis.js'
import { Environment, manyClients, promisedBounds, type Report } from './environment.js'
import {
  abandonWork,
  cutConnections,
  freezeDatabase,
  killDatabase,
  recycleConnections,
  resetConnections,
} from './scenarios/database.js'
import { forgetConnections, losePackets } from './scenarios/network.js'
import { restartPooler } from './scenarios/pooler.js'
import { failOverRedis, loseRedis } from './scenarios/redis.js'
import { failOver, loseStandby } from './scenarios/replication.js'
import { deploy, killService, killWorkers, stopService } from './scenarios/service.js'

const usage = `Usage: npm run faults

Starts services, a PostgreSQL, and a Redis and a PgBouncer where there are these; kills, freezes and replaces them under load, about five
minutes long, and says what became of every request. Nothing else on this machine is touched.

  --help  this

Examples:
  npm run faults

Exit codes: 0 every promise was kept, 1 one was not, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  parseArgs({ args: [...args] })
  const environment = await Environment.open(promisedBounds, manyClients, interruption)
  let broken = 0
  const tell = async ({ title, figures, broken: promises }: Report) => {
    const lines = [...figures, ...promises.map((each) => `NOT KEPT: ${each}`)]
    await print(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
    broken += promises.length
  }
  try {
    await tell(await killService(environment, 20))
    if (canMeasureProcesses) await tell(await killWorkers(environment, 10)) // Linux tells which are whose
    await tell(await killDatabase(environment, 20))
    await tell(await freezeDatabase(environment, 6_000))
    await tell(await cutConnections(environment, 50))
    await tell(await losePackets(environment, 6_000))
    await tell(await forgetConnections(environment, 5))
    await tell(await failOver(environment, 'kill'))
    await tell(await failOver(environment, 'freeze'))
    await tell(await loseStandby(environment, 'kill'))
    await tell(await loseStandby(environment, 'freeze'))
    await tell(await recycleConnections(environment, 6_000))
    await tell(await resetConnections(environment, 10))
    await tell(await abandonWork(environment, 3))
    if (hasPgBouncer) {
      await tell(await restartPooler(environment, 'session', 5))
      await tell(await restartPooler(environment, 'transaction', 5))
    } else await print('PgBouncer: not tried, for there is no pgbouncer in PATH\n')
    if (hasRedis) {
      await tell(await loseRedis(environment, 10, 3_000))
      await tell(await failOverRedis(environment))
    } else await print('Redis: not tried, for there is no redis-server in PATH\n')
    await tell(await stopService(environment, 10))
    await tell(await deploy(environment, 8))
  } finally {
    await environment.close()
  }
  await print(broken === 0 ? 'every promise was kept\n' : `${broken} promises were not kept\n`)
  return broken === 0 ? 0 : 1
}

runCommand(usage, main)
