// Redis failures: of a single server, and of a master of a cluster.

import { inTemporaryDirectory } from '../../lib/directory.js'
import { RedisCluster, RedisServer } from '../../lib/redis.js'
import { type Environment, type Report, unless } from '../environment.js'
import type { Ledger } from '../ledger.js'
import { withService } from './parts.js'

/** Kills Redis, restarts it empty, then freezes it. No client may notice. */
export function loseRedis(environment: Environment, times: number, frozenMs: number): Promise<Report> {
  return withRedis(
    (directory) => RedisServer.start(directory),
    (redis) =>
      withService(environment, { REDIS_URL: redis.url }, (origin) =>
        environment.run(
          `Redis killed ${times} times, and frozen for ${frozenMs} ms`,
          origin,
          async (load, ledger) => {
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
              figures: [`served ${Math.round(servedAfterMs)} ms after the thaw`],
              violations: effectsOn(environment, ledger),
            }
          },
        ),
      ),
  )
}

/** Kills the master of a Redis cluster that has the counts, until its replica is promoted. No client may notice. */
export function failOverRedis(environment: Environment): Promise<Report> {
  return withRedis(
    (directory) => RedisCluster.start(directory),
    (cluster) =>
      withService(environment, { REDIS_URL: cluster.url }, (origin) =>
        environment.run(
          'a master of a Redis cluster killed, and its replica promoted',
          origin,
          async (load, ledger) => {
            await (await cluster.masterOf('*:minute')).kill()
            await untilCounted(environment, origin, 'memory_fallback')
            await cluster.untilPromoted()
            const took = Math.round(await untilCounted(environment, origin, 'redis'))
            await load.untilServed()
            return {
              figures: [`counts shared again ${took} ms after the promotion`],
              violations: [
                ...effectsOn(environment, ledger),
                ...unless(took < environment.bounds.recoveryMs, `it took ${took} ms to share counts again`),
              ],
            }
          },
        ),
      ),
  )
}

async function untilCounted(environment: Environment, origin: string, place: string): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const { counters } = (await (await fetch(`${origin}/readyz`)).json()) as { counters: string }
    if (counters === place) return performance.now() - startedAt
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

function withRedis<Server extends RedisServer | RedisCluster>(
  start: (directory: string) => Promise<Server>,
  act: (redis: Server) => Promise<Report>,
): Promise<Report> {
  return inTemporaryDirectory(async (directory) => {
    const redis = await start(directory)
    try {
      return await act(redis)
    } finally {
      await redis.kill()
    }
  })
}
