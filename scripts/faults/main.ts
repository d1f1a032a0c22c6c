// Injects faults into real processes under load, and checks the guarantees of docs/faults.md.

import { parseArgs } from 'node:util'
import { runCommand } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { hasRedis } from '../lib/redis.js'
import { documentedBounds, Environment, manyClients, type Report } from './environment.js'
import { hasPgBouncer } from './pgbouncer.js'
import { canMeasureProcesses } from './processes.js'
import { leaveUnread } from './scenarios/clients.js'
import {
  abandonWork,
  cutConnections,
  freezeDatabase,
  killDatabase,
  recycleConnections,
  resetConnections,
} from './scenarios/database.js'
import { holdMigrationLock, migrateBehindReader } from './scenarios/migrations.js'
import { floodWithoutKey } from './scenarios/neighbours.js'
import { forgetConnections, losePackets } from './scenarios/network.js'
import { restartPooler } from './scenarios/pooler.js'
import { failOverRedis, loseRedis } from './scenarios/redis.js'
import { failOver, loseStandby, replaceCertificate, stallCommits } from './scenarios/replication.js'
import {
  deploy,
  freezeWorker,
  killService,
  killWorkers,
  refuseSpans,
  stopService,
} from './scenarios/service.js'

const usage = `Usage: npm run faults

Starts services, PostgreSQL, and Redis and PgBouncer if installed. Kills, freezes and replaces them under
load for about five minutes, and reports the outcome of every request. Other processes on this machine are
not affected.

  --help  show this help

Examples:
  npm run faults

Exit codes: 0 all guarantees hold, 1 a guarantee was violated, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  parseArgs({ args: [...args] })
  const environment = await Environment.open(documentedBounds, manyClients, interruption)
  let violated = 0
  const report = async ({ title, figures, violations }: Report) => {
    const lines = [...figures, ...violations.map((each) => `VIOLATED: ${each}`)]
    await print(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
    violated += violations.length
  }
  try {
    await report(await killService(environment, 20))
    if (canMeasureProcesses) await report(await killWorkers(environment, 10)) // finds the workers by /proc
    await report(await killDatabase(environment, 20))
    await report(await freezeDatabase(environment, 6_000))
    await report(await cutConnections(environment, 50))
    await report(await losePackets(environment, 6_000))
    await report(await forgetConnections(environment, 5))
    await report(await failOver(environment, 'kill'))
    await report(await failOver(environment, 'freeze'))
    await report(await loseStandby(environment, 'kill'))
    await report(await loseStandby(environment, 'freeze'))
    await report(await replaceCertificate(environment))
    await report(await recycleConnections(environment, 6_000))
    await report(await resetConnections(environment, 10))
    await report(await abandonWork(environment, 3))
    if (hasPgBouncer) {
      await report(await restartPooler(environment, 'session', 5))
      await report(await restartPooler(environment, 'transaction', 5))
    } else await print('PgBouncer: skipped, no pgbouncer in PATH\n')
    if (hasRedis) {
      await report(await loseRedis(environment, 10, 3_000))
      await report(await failOverRedis(environment))
    } else await print('Redis: skipped, no redis-server in PATH\n')
    await report(await stopService(environment, 10))
    await report(await deploy(environment, 8))
    await report(await floodWithoutKey(environment, 6_000))
    await report(await holdMigrationLock(environment, 3))
    await report(await migrateBehindReader(environment, 5_000))
    await report(await leaveUnread(environment, 100, 1_000))
    await report(await refuseSpans(environment, 4))
    if (canMeasureProcesses) await report(await freezeWorker(environment))
    await report(await stallCommits(environment, 30_000))
  } finally {
    await environment.close()
  }
  await print(violated === 0 ? 'all guarantees hold\n' : `${violated} guarantees violated\n`)
  return violated === 0 ? 0 : 1
}

runCommand(usage, main)
