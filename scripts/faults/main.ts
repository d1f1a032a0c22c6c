// Injects faults into real processes under load, and checks the guarantees of docs/measurements.md.

import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { hasRedis } from 'contract-service/fixtures/redis-server'
import { runProcess, type Surroundings, UsageError } from 'contract-service/internal/commands/command'
import { documentedBounds, Environment, manyClients, type Report } from './environment.js'
import { hasHaproxy } from './haproxy.js'
import { hasPgBouncer } from './pgbouncer.js'
import { sendChunks, sendRefusedChunks } from './scenarios/chunks.js'
import { leaveUnread } from './scenarios/clients.js'
import {
  abandonWork,
  cutConnections,
  freezeDatabase,
  killDatabase,
  recycleConnections,
  resetConnections,
} from './scenarios/database.js'
import { failInMiddle } from './scenarios/middles.js'
import { holdMigrationLock, migrateBehindReader } from './scenarios/migrations.js'
import { floodWithoutKey } from './scenarios/neighbours.js'
import { forgetConnections, losePackets } from './scenarios/network.js'
import { restartPooler } from './scenarios/pooler.js'
import { shareReads } from './scenarios/reads.js'
import { failOverRedis, loseRedis } from './scenarios/redis.js'
import { failOver, loseStandby, replaceCertificate, stallCommits } from './scenarios/replication.js'
import { deploy, killService, refuseSpans, stopAmidHeads, stopService } from './scenarios/service.js'
import { loseWrites } from './scenarios/writes.js'

const usage = `Usage: npm run faults [-- --only NAME,NAME]

Starts services, PostgreSQL, and Redis, PgBouncer and HAProxy if installed. Kills, freezes and replaces them
under load for about six minutes, and reports the outcome of every request. Other processes on this
machine are not affected.

  --only  only these scenarios, as listed below
  --help  show this help

Examples:
  npm run faults
  npm run faults -- --only kill-service,stall-commits

Exit codes: 0 all guarantees hold, 1 a guarantee was violated, 2 wrong usage, 130 interrupted.

Scenarios:
`

type Scenario = (environment: Environment) => Promise<Report>

const noHaproxy = !hasHaproxy && 'no haproxy in PATH'
const noPgBouncer = !hasPgBouncer && 'no pgbouncer in PATH'
const noRedis = !hasRedis && 'no redis-server in PATH'

const scenarios: readonly (readonly [name: string, scenario: Scenario, skip?: string | false])[] = [
  ['kill-service', (environment) => killService(environment, 20)],
  ['kill-database', (environment) => killDatabase(environment, 20)],
  ['freeze-database', (environment) => freezeDatabase(environment, 6_000)],
  ['cut-connections', (environment) => cutConnections(environment, 50)],
  ['lose-packets', (environment) => losePackets(environment, 6_000)],
  ['forget-connections', (environment) => forgetConnections(environment, 5)],
  ['kill-primary', (environment) => failOver(environment, 'kill')],
  ['freeze-primary', (environment) => failOver(environment, 'freeze')],
  ['kill-standby', (environment) => loseStandby(environment, 'kill')],
  ['freeze-standby', (environment) => loseStandby(environment, 'freeze')],
  ['replace-certificate', replaceCertificate],
  ['fail-in-middle', (environment) => failInMiddle(environment, 8_000)],
  ['recycle-connections', (environment) => recycleConnections(environment, 6_000)],
  ['reset-connections', (environment) => resetConnections(environment, 10)],
  ['abandon-work', (environment) => abandonWork(environment, 3)],
  ['session-pooler', (environment) => restartPooler(environment, 'session', 5), noPgBouncer],
  ['transaction-pooler', (environment) => restartPooler(environment, 'transaction', 5), noPgBouncer],
  ['lose-redis', (environment) => loseRedis(environment, 10, 3_000), noRedis],
  ['fail-over-redis', failOverRedis, noRedis],
  ['stop-service', (environment) => stopService(environment, 10)],
  ['stop-amid-heads', (environment) => stopAmidHeads(environment, 4)],
  ['deploy', (environment) => deploy(environment, 8)],
  ['flood-without-key', (environment) => floodWithoutKey(environment, 6_000)],
  ['hold-migration-lock', (environment) => holdMigrationLock(environment, 3)],
  ['migrate-behind-reader', (environment) => migrateBehindReader(environment, 5_000)],
  ['send-chunks', (environment) => sendChunks(environment, 55)],
  ['refuse-chunks', (environment) => sendRefusedChunks(environment, 300)],
  ['leave-unread', (environment) => leaveUnread(environment, 100, 1_000, 100)],
  ['refuse-spans', (environment) => refuseSpans(environment, 4)],
  ['stall-commits', (environment) => stallCommits(environment, 30_000)],
  ['lose-writes', (environment) => loseWrites(environment, 15_000), noHaproxy],
  ['share-reads', (environment) => shareReads(environment, 10_000), noHaproxy],
]

async function main(args: readonly string[], { interruption }: Surroundings): Promise<number> {
  const chosen = chooseScenarios(args)
  const environment = await Environment.open(documentedBounds, manyClients, interruption)
  let violated = 0
  try {
    for (const [name, scenario, skip] of chosen) {
      if (skip) await print(`${name}: skipped, ${skip}\n`)
      else violated += await report(await scenario(environment))
    }
  } finally {
    await environment.close()
  }
  await print(violated === 0 ? 'all guarantees hold\n' : `${violated} guarantees violated\n`)
  return violated === 0 ? 0 : 1
}

/** @throws {UsageError} for a name that no scenario has */
function chooseScenarios(args: readonly string[]): typeof scenarios {
  const { only } = parseArgs({ args: [...args], options: { only: { type: 'string' } } }).values
  if (only === undefined) return scenarios
  const names = only.split(',')
  const unknown = names.filter((name) => !scenarios.some(([each]) => each === name))
  if (unknown.length > 0) throw new UsageError(`no scenario is called ${unknown.join(', ')}`)
  return scenarios.filter(([name]) => names.includes(name))
}

/** Prints a report, and returns how many guarantees were violated. */
async function report({ title, figures, violations }: Report): Promise<number> {
  const lines = [...figures, ...violations.map((each) => `VIOLATED: ${each}`)]
  await print(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
  return violations.length
}

runProcess(usage + scenarios.map(([name]) => `  ${name}\n`).join(''), main)
