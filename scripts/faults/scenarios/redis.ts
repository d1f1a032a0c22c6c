// Redis failures: of a single server, and of a master of a cluster.

import { RedisCluster, RedisServer } from 'contract-service/fixtures/redis-server'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { type Environment, type Outcome, type Report, unless } from '../environment.js'
import type { Ledger } from '../ledger.js'
import { type Run, timed, within, withService } from './parts.js'

/** Kills Redis, restarts it empty, then freezes it. No client may notice. */
export function loseRedis(environment: Environment, times: number, frozenMs: number): Promise<Report> {
  const title = `Redis killed ${times} times, and frozen for ${frozenMs} ms`
  return withRedis(environment, title, RedisServer, async (redis, { load, ledger }) => {
    for (let i = 0; i < times; i++) {
      await environment.delay(200)
      await redis.kill()
      await environment.delay(200)
      await redis.start()
      await load.untilServed()
    }
    redis.freeze()
    await environment.delay(frozenMs)
    redis.thaw()
    const servedAfterMs = await load.untilServed()
    return {
      figures: [`served ${servedAfterMs} ms after the thaw`],
      violations: effectsOn(environment, ledger),
    }
  })
}

/** Kills the Redis cluster's master with the counts, until its replica is promoted. No client may notice. */
export function failOverRedis(environment: Environment): Promise<Report> {
  const title = 'a master of a Redis cluster killed, and its replica promoted'
  return withRedis(environment, title, RedisCluster, async (cluster, { origin, load, ledger }) => {
    await (await cluster.masterOf('*:minute')).kill()
    await untilCounted(environment, origin, 'memory_fallback')
    await cluster.untilPromoted()
    const tookMs = await timed(() => untilCounted(environment, origin, 'redis'))
    await load.untilServed()
    return {
      figures: [`counts shared again ${tookMs} ms after the promotion`],
      violations: [
        ...effectsOn(environment, ledger),
        ...within(environment.bounds.recoveryMs, tookMs, 'to share counts again'),
      ],
    }
  })
}

async function untilCounted(environment: Environment, origin: string, place: string): Promise<void> {
  for (;;) {
    const { counters } = (await (await fetch(`${origin}/readyz`)).json()) as { counters: string }
    if (counters === place) return
    await environment.delay(20)
  }
}

// No request may fail or wait.
function effectsOn({ bounds }: Environment, { statuses, slowestMs }: Ledger): string[] {
  const failures = [...statuses.keys()].filter((end) => !end.startsWith('2') && end !== '409')
  return [
    ...unless(failures.length === 0, `there were ${failures.join(', ')}`),
    ...unless(slowestMs < bounds.unnoticedMs, `a request took ${Math.round(slowestMs)} ms`),
  ]
}

function withRedis<Redis extends RedisServer | RedisCluster>(
  environment: Environment,
  title: string,
  kind: { start(directory: string): Promise<Redis> },
  scenario: (redis: Redis, run: Run) => Promise<Outcome>,
): Promise<Report> {
  return inTemporaryDirectory(async (directory) => {
    const redis = await kind.start(directory)
    try {
      return await withService(environment, title, { REDIS_URL: redis.url }, (run) => scenario(redis, run))
    } finally {
      await redis.kill()
    }
  })
}
