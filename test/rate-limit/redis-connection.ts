import { execFile } from 'node:child_process'
import { mock } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { clientOfKey } from 'contract-service/fixtures/clients'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { runProgram, startProcess } from 'contract-service/fixtures/process'
import { redisIsMissing, startRedis, startRedisCluster, startSentinel } from 'contract-service/fixtures/redis'
import { type RedisServer, redisCli, untilOneReplies } from 'contract-service/fixtures/redis-server'
import { fixture } from 'contract-service/fixtures/root'
import type { Client } from 'contract-service/internal/auth/client'
import type { ServiceContract } from 'contract-service/internal/auth/plans'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { type Counters, createCounters } from 'contract-service/internal/rate-limit/counters'
import { RedisConnection } from 'contract-service/internal/rate-limit/redis-connection'
import { freePort } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import Fastify, { type FastifyRequest } from 'fastify'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { countBy } from '../fixtures/count.js'
import { blockOf } from '../fixtures/pages.js'
import { contract } from '../fixtures/service.js'

const unavailable = 'redis unavailable, counting in memory'
const mayEvict = 'redis may evict counters, set maxmemory-policy to noeviction'
const perMinute = 300

// Bans a key after the second second with a rejection: Redis has its own clock, so time passes.
const { ban } = contract.rateLimits
const strict = {
  ...contract,
  rateLimits: { ...contract.rateLimits, ban: { ...ban, rejections: 1, withinSeconds: 60 } },
}

const setUser = blockOf('docs/deploying.md', 'redis-cli ACL SETUSER').trim()
const documentedRole = setUser.replaceAll("'", '').split(' ').slice(1)

t.test('startup', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t, '--requirepass', 'open sesame')
  const tlsPort = await freePort()
  await startRedis(t, '--tls-port', `${tlsPort}`, '--tls-auth-clients', 'no', ...certificate('name'))
  const sentinel = await startSentinel(t, redis.port)
  const unused = await freePort()
  const login = ':open%20sesame@'
  const addRole = (...role: string[]) =>
    redisCli('-p', `${redis.port}`, '-a', 'open sesame', 'ACL', 'SETUSER', ...role)
  await addRole('reader', 'on', '>p', '~*', '+@read')
  await addRole('stranger', 'on', '>p', '~other:*', '+@all')

  for (const [what, url, reason] of [
    ['a wrong password', `redis://:wrong@127.0.0.1:${redis.port}`, 'WRONGPASS '],
    ['no password', `redis://127.0.0.1:${redis.port}`, 'NOAUTH '],
    ['a role without permission to count', `redis://reader:p@127.0.0.1:${redis.port}`, 'NOPERM '],
    ['a role for other keys', `redis://stranger:p@127.0.0.1:${redis.port}`, 'NOPERM '],
    ['a database that does not exist', `redis://${login}127.0.0.1:${redis.port}/99`, 'ERR DB index'],
    [
      'an unknown certificate authority',
      `rediss://localhost:${tlsPort}`,
      'self-signed certificate in certificate chain',
    ],
    ['an unknown host', 'redis://counters.invalid', 'getaddrinfo ENOTFOUND counters.invalid'],
    [
      'a server that is not a cluster',
      `redis+cluster://${login}127.0.0.1:${redis.port}`,
      'ERR This instance has cluster support disabled',
    ],
    ['a wrong password for a cluster', `redis+cluster://:wrong@127.0.0.1:${redis.port}`, 'WRONGPASS '],
    [
      'an unknown certificate authority of a cluster',
      `rediss+cluster://localhost:${tlsPort},127.0.0.1:${unused}`,
      'self-signed certificate in certificate chain',
    ],
    [
      'unknown hosts of a cluster',
      'redis+cluster://a.invalid:1,b.invalid:2',
      'getaddrinfo ENOTFOUND a.invalid',
    ],
    [
      'a master that no sentinel knows',
      `redis+sentinel://127.0.0.1:${sentinel.port}/other`,
      `failed to connect to sentinel 127.0.0.1:${sentinel.port} because ERR No such master with that name`,
    ],
    ['no password for the master', `redis+sentinel://127.0.0.1:${sentinel.port}/counters`, 'NOAUTH '],
    [
      'an unknown certificate authority of sentinels',
      `rediss+sentinel://localhost:${tlsPort}/counters`,
      'self-signed certificate in certificate chain',
    ],
    ['unknown hosts of sentinels', 'redis+sentinel://a.invalid/counters', 'getaddrinfo ENOTFOUND a.invalid'],
  ] as const)
    t.test(`fails on ${what}`, async (t) => {
      const error = await startInstance(t, url).catch((error: Error) => error)
      t.ok(error instanceof OperatorError, 'which the operator can fix')
      const { message } = error as Error
      t.match(message, /^cannot use Redis at \S+:\d+(, \S+:\d+)?: /)
      t.equal(message.replace(/^.*?: /, '').slice(0, reason.length), reason)
      t.match(message, /\nFix the server or REDIS_URL/)
      t.notMatch(message, /sesame|wrong/, 'without a password in the message')
    })

  t.test('reports the error on standard error, and exits 1', async (t) => {
    const { code, stdout, stderr } = await runProgram('src/main.ts', [], {
      DATA_DIR: dataDirectory(t),
      PORT: '0',
      REDIS_URL: `redis://:wrong@127.0.0.1:${redis.port}`,
    })
    t.equal(code, 1)
    t.match(stderr, /^startup failed: cannot use Redis at 127\.0\.0\.1:\d+: WRONGPASS .*\n.*\n$/)
    t.notMatch(stdout, unavailable)
  })

  for (const [what, url] of [
    ['a server', `redis://127.0.0.1:${unused}`],
    ['a cluster', `redis+cluster://127.0.0.1:${unused}`],
    ['sentinels', `redis+sentinel://127.0.0.1:${unused}/counters`],
  ] as const)
    t.test(`continues without ${what} that is only unavailable, and logs why`, async (t) => {
      const { counters, log } = await startInstance(t, url)
      t.equal(counters.state(), 'memory_fallback')
      t.match(log, [{ level: 40, msg: unavailable, reason: `connect ECONNREFUSED 127.0.0.1:${unused}` }])
      t.match(await counters.count(clientOfKey('1')), { isAdmitted: true })
    })

  t.test('trusts the certificate authorities in NODE_EXTRA_CA_CERTS', async (t) => {
    const service = await startProcess(t, {
      DATA_DIR: dataDirectory(t),
      REDIS_URL: `rediss://localhost:${tlsPort}`,
      METRICS_PORT: '0',
      NODE_EXTRA_CA_CERTS: tlsFile('ca.pem'),
    })
    t.match(await (await fetch(new URL('/readyz', service.base))).json(), { counters: 'redis' })
    const { port } = await service.logged('metrics server listening')
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const [, until] =
      /^animal_store_certificate_expiry_timestamp_seconds{of="redis"} (\d+)$/m.exec(metrics) ?? []
    t.ok(Number(until) > Date.now() / 1000, 'and tells when the certificate ends')
    await service.stop()
  })

  t.test('works with the minimal role in docs/deploying.md', async (t) => {
    const { port, url } = await startRedis(t)
    const cli = (...args: string[]) => redisCli('-p', `${port}`, ...args)
    const pasted = setUser.replace('redis-cli', `redis-cli -p ${port}`)
    t.equal((await promisify(execFile)('bash', ['-euc', pasted])).stdout, 'OK\n')
    const { counters, log } = await startInstance(t, url.replace('//', '//animal-store:secret@'), strict)
    const client = clientOfKey('1', 2)
    for (const isAdmitted of [true, true, false]) t.match(await counters.count(client), { isAdmitted })
    t.equal(await counters.reject(client), undefined)
    await delay(1_010)
    t.match(await counters.reject(client), { remaining: 0 })
    await counters.address(from('192.0.2.1'))
    t.equal(counters.state(), 'redis')
    t.strictSame(log, [])
    const names = (await cli('KEYS', '*')).trim().split('\n').sort()
    t.strictSame(
      names.filter((name) => !name.endsWith(':probe')),
      [
        'animal-store-service:address:{192.0.2.1}',
        ...['ban', 'day', 'minute', 'rejected-second', 'rejections'].map(
          (kind) => `animal-store-service:{1}:${kind}`,
        ),
      ],
    )
    const commands = documentedRole.filter((each) => /^[+](?!info)/.test(each))
    t.equal(commands.length, 6)
    for (const one of commands) {
      await cli(...documentedRole, one.replace('+', '-'))
      const refused = startInstance(t, url.replace('//', '//animal-store:secret@'))
      await t.rejects(refused, { name: 'OperatorError' }, `not without ${one}`)
    }
    await cli(...documentedRole, '-info')
    t.strictSame((await startInstance(t, url.replace('//', '//animal-store:secret@'))).log, [])
  })

  t.test('counts the clients of each service separately', async (t) => {
    const { url } = await startRedis(t)
    const left = { remaining: contract.rateLimits.anonymous.perMinute - 1 }
    const titles = [contract.title, 'Pat’s {Toys}', '玩具']
    for (const title of titles) {
      const { counters } = await startInstance(t, url, { ...contract, title })
      t.match(await counters.count(clientOfKey('1', 2)), { minute: { remaining: 1 } }, title)
      t.match(await counters.address(from('192.0.2.1')), left, title)
    }
  })

  t.test('warns if Redis may evict counters', async (t) => {
    const evicting = await startRedis(t, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru')
    t.match((await startInstance(t, evicting.url)).log, [{ level: 40, msg: mayEvict, policy: 'allkeys-lru' }])
    const keeping = await startRedis(t, '--maxmemory', '50mb', '--maxmemory-policy', 'noeviction')
    t.strictSame((await startInstance(t, keeping.url)).log, [])
  })
})

t.test(
  'TLS with a certificate authority in NODE_EXTRA_CA_CERTS, and a failover',
  { skip: redisIsMissing },
  async (t) => {
    // Counts in Redis, falls back when the master is killed, and then counts in the promoted replica.
    const failsOver = async (t: Test, url: string, masterOf: () => Promise<RedisServer>) => {
      const env = { DATA_DIR: dataDirectory(t), REDIS_URL: url, NODE_EXTRA_CA_CERTS: tlsFile('ca.pem') }
      const service = await startProcess(t, env)
      const isCounted = async (where: string) => {
        await fetch(`${service.base}/pets`)
        const ready = await fetch(new URL('/readyz', service.base))
        return ((await ready.json()) as { counters: string }).counters === where
      }
      t.ok(await isCounted('redis'))
      await (await masterOf()).kill()
      await until(() => isCounted('memory_fallback'))
      await until(() => isCounted('redis'))
      await service.stop()
    }
    const encrypted = async (name: string) => {
      const port = `${await freePort()}`
      const also = ['--tls-replication', 'yes', '--tls-auth-clients', 'no', ...certificate(name)]
      return { port, settings: ['--tls-port', port, ...also] }
    }

    t.test('work in a cluster', async (t) => {
      const ports: string[] = []
      const cluster = await startRedisCluster(t, async () => {
        const { port, settings } = await encrypted('address')
        ports.push(port)
        return [...settings, '--tls-cluster', 'yes']
      })
      const url = `rediss+cluster://127.0.0.1:${ports[0]}`
      await failsOver(t, url, () => cluster.masterOf('*:address:*'))
    })

    t.test('work with sentinels', async (t) => {
      const [first, second, third] = [
        await encrypted('address'),
        await encrypted('address'),
        await encrypted('name'),
      ]
      const master = await startRedis(t, ...first.settings, '--repl-diskless-sync-delay', '0')
      const replica = await startRedis(t, ...second.settings, '--replicaof', '127.0.0.1', first.port)
      const sentinel = await startSentinel(t, Number(first.port), ...third.settings)
      await untilReplicated(sentinel, replica, second.port)
      await failsOver(t, `rediss+sentinel://localhost:${third.port}/counters`, async () => master)
    })
  },
)

t.test(
  'a login that is refused after startup is logged once per outage',
  { skip: redisIsMissing },
  async (t) => {
    const redis = await startRedis(t)
    const { counters, log } = await startInstance(t, redis.url)
    const cli = (...args: string[]) => redisCli('-p', `${redis.port}`, ...args)
    await cli('CONFIG', 'SET', 'requirepass', 'new')
    await cli('-a', 'new', 'CLIENT', 'KILL', 'TYPE', 'normal')
    const refused = { level: 50, reason: /^NOAUTH /, msg: 'redis rejects the connection' }
    await until(async () => {
      await counters.count(clientOfKey('1'))
      return log.length > 1
    })
    const refusals = async () =>
      Number(/errorstat_NOAUTH:count=(\d+)/.exec(await cli('-a', 'new', 'INFO', 'errorstats'))?.[1])
    const before = await refusals()
    await until(async () => (await refusals()) > before + 2) // a probe's error is logged before the next
    t.match(log, [{ level: 40, msg: unavailable, reason: 'connection closed' }, refused])
    t.equal(log.length, 2)
  },
)

t.test('a cluster', { skip: redisIsMissing }, async (t) => {
  const { masters: servers, url } = await startRedisCluster(t)
  const pair = [await startInstance(t, url), await startInstance(t, url)] as const

  t.test('admits exactly the quota of clients on all of its servers, over two instances', async (t) => {
    const clients = Array.from({ length: 20 }, (_, i) => clientOfKey(`exact ${i}`, 30))
    const asked = clients.flatMap((client) =>
      Array.from({ length: 60 }, async (_, i) => {
        const counted = await pair[i % 2]?.counters.count(client)
        return counted?.isAdmitted ? [client.keyId] : []
      }),
    )
    t.strictSame(
      Object.values(countBy((await Promise.all(asked)).flat(), (keyId) => keyId)),
      clients.map(() => 30),
    )
    const sizes = await Promise.all(servers.map(({ port }) => redisCli('-p', `${port}`, 'DBSIZE')))
    t.ok(
      sizes.every((size) => Number(size) > 0),
      `each has keys: ${sizes}`,
    )
    for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'])
      for (const [i, { counters }] of pair.entries())
        t.match(await counters.address(from(ip)), {
          remaining: contract.rateLimits.anonymous.perMinute - i - 1,
        })
    for (const { counters, log } of pair)
      t.match({ state: counters.state(), log }, { state: 'redis', log: [] })
  })

  t.test('admits exactly the quota while a slot is migrated', async (t) => {
    const client = clientOfKey('moved', perMinute)
    let admitted = 0
    let isMoving = true
    const load = pair.map(async ({ counters }) => {
      while (isMoving) {
        if ((await counters.count(client)).isAdmitted) admitted++
        await delay(1) // so that the load lasts as long as the migration
      }
      while ((await counters.count(client)).isAdmitted) admitted++
    })
    await until(() => admitted > 20)
    await moveSlot(t, servers, 'animal-store-service:{moved}:day')
    isMoving = false
    await Promise.all(load)
    t.equal(admitted, perMinute)
    for (const { counters, log } of pair)
      t.match({ state: counters.state(), log }, { state: 'redis', log: [] })
  })

  t.test(
    'counts in memory from the first request of a slot that stays half moved until it is moved',
    async (t) => {
      const [{ counters, log }] = pair
      const client = clientOfKey('half', 12)
      for (let i = 0; i < 3; i++) await counters.count(client)
      const finish = await beginMove(t, servers, 'animal-store-service:{half}:day')
      t.match(await counters.count(client), { minute: { remaining: 8 } })
      t.match(log, [{ level: 40, msg: unavailable, reason: /^Too many Cluster redirections/ }])
      for (let i = 0; i < 4; i++) {
        await delay(300) // time for a probe
        t.match(await counters.count(client), { minute: { remaining: 7 - i } })
      }
      t.equal(log.length, 1, 'the probes failed, too')
      await finish()
      await until(() => counters.state() === 'redis')
      t.match(await counters.count(client), { minute: { remaining: 3 } })
      t.equal(log.splice(0).length, 2)
    },
  )

  t.test('works with the minimal role in docs/deploying.md', async (t) => {
    for (const { port } of servers) await redisCli('-p', `${port}`, ...documentedRole, '+cluster|slots')
    const { counters, log } = await startInstance(t, url.replace('//', '//animal-store:secret@'))
    const clients = ['one', 'two', 'three', 'four', 'five'].map((keyId) => clientOfKey(keyId))
    for (const client of clients) t.match(await counters.count(client), { isAdmitted: true })
    t.match({ state: counters.state(), log }, { state: 'redis', log: [] })
  })

  t.test('requires a redis+cluster URL', async (t) => {
    for (const { url } of servers)
      await t.rejects(startInstance(t, url), { message: /(: MOVED |redis\+cluster:\/\/)/ })
  })

  t.test(
    'counts in memory when a master fails, and in Redis again when its replica is promoted',
    async (t) => {
      const [first, second] = pair
      const clients = Array.from({ length: 12 }, (_, i) => clientOfKey(`lost ${i}`, 10))
      for (const client of clients) for (let i = 0; i < 5; i++) await first.counters.count(client)
      await servers[0]?.kill()
      const asked = clients.flatMap((client) =>
        Array.from({ length: 10 }, () => first.counters.count(client)),
      )
      t.equal((await Promise.all(asked)).filter(({ isAdmitted }) => isAdmitted).length, clients.length * 5)
      t.equal(first.counters.state(), 'memory_fallback')
      await until(() => first.counters.state() === 'redis')
      t.strictSame(
        first.log.map(({ level }) => level),
        [40, 30],
        'each change is logged once',
      )
      // It may still know the master that is gone, and count in memory once.
      await Promise.all(clients.map((client) => second.counters.count(client)))
      await until(() => second.counters.state() === 'redis')
      for (const { counters } of pair) {
        const counted = await Promise.all(clients.map((client) => counters.count(client)))
        t.ok(
          counted.every(({ isAdmitted }) => !isAdmitted),
          'the counts made in memory are shared',
        )
        t.equal(counters.state(), 'redis')
      }
    },
  )
})

t.test('a master found by sentinels', { skip: redisIsMissing }, async (t) => {
  const master = await startRedis(t, '--repl-diskless-sync-delay', '0')
  const replica = await startRedis(t, '--replicaof', '127.0.0.1', `${master.port}`)
  const sentinel = await startSentinel(t, master.port)
  await untilReplicated(sentinel, replica, `${replica.port}`)
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}/counters/0`
  const pair = [await startInstance(t, url), await startInstance(t, url)] as const
  const clients = { used: clientOfKey('used', perMinute), half: clientOfKey('half', perMinute) }
  const spread = async (client: Client, times: number) => {
    const asked = Array.from({ length: times }, (_, i) => pair[i % 2]?.counters.count(client))
    return (await Promise.all(asked)).filter((each) => each?.isAdmitted).length
  }

  t.equal(await spread(clients.used, 2 * perMinute), perMinute, 'admits exactly the quota over two instances')
  t.equal(await spread(clients.half, perMinute / 2), perMinute / 2)
  const writer = new Redis(master.port, { retryStrategy: null })
  await writer.set('last', 1)
  t.equal(await writer.wait(1, 10_000), 1, 'the replica has it')
  await master.kill()
  t.equal(await spread(clients.used, 200), 0, 'a used-up quota stays used up without a master')
  await untilOneReplies([sentinel], ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'counters'], `${replica.port}`)
  await until(() => pair.every(({ counters }) => counters.state() === 'redis'))
  t.equal(await spread(clients.used, 200), 0, 'and after the promotion of the replica')
  t.equal(
    await spread(clients.half, 2 * perMinute),
    perMinute / 2,
    'the rest of another quota is exact again',
  )
  for (const { log } of pair) t.match(log, [{ level: 40, msg: unavailable }, { level: 30 }])
})

t.test(
  'rejections and address windows are not carried over, bans are',
  { skip: redisIsMissing },
  async (t) => {
    const redis = await startRedis(t)
    const start = () => startInstance(t, redis.url, strict)
    const pair = [await start(), await start()] as const
    const [{ counters: first }, { counters: second }] = pair
    const { anonymous } = contract.rateLimits
    const guesser = from('192.0.2.1')
    const useUp = async (counters: Counters, keyId: string) => {
      await counters.count(clientOfKey(keyId))
      const guesses = Array.from({ length: anonymous.perMinute }, () => counters.address(guesser))
      t.ok((await Promise.all(guesses)).every(({ isExceeded }) => !isExceeded))
      t.equal(await counters.reject(clientOfKey(keyId)), undefined)
      t.match(await counters.address(guesser), { isExceeded: true }, 'the address has its quota')
    }
    await useUp(first, '1')
    t.match(await second.address(guesser), { isExceeded: true }, 'the quota is shared')
    await redis.kill()
    await useUp(first, '1')
    await useUp(second, '1')
    await delay(1_010)
    t.match(await first.reject(clientOfKey('1')), { remaining: 0 }, 'a ban starts')
    await redis.start()
    await until(() => pair.every(({ counters }) => counters.state() === 'redis'))
    await useUp(first, '2')
    t.match(await second.address(guesser), { isExceeded: true })
    t.match(await first.count(clientOfKey('1')), { isAdmitted: false, ban: { remaining: 0 } })
    t.match(
      await second.count(clientOfKey('1')),
      { isAdmitted: false, ban: { remaining: 0 } },
      'the ban is carried over',
    )
  },
)

t.test(
  'a master that becomes a replica is unavailable until it is a master again',
  { skip: redisIsMissing },
  async (t) => {
    const [redis, other] = [await startRedis(t), await startRedis(t)]
    const { counters, log } = await startInstance(t, redis.url)
    await redisCli('-p', `${redis.port}`, 'REPLICAOF', '127.0.0.1', `${other.port}`)
    t.match(await counters.count(clientOfKey('1')), { isAdmitted: true })
    t.match(log, [{ level: 40, msg: unavailable, reason: /READONLY/ }])
    await redisCli('-p', `${redis.port}`, 'REPLICAOF', 'NO', 'ONE')
    await until(() => counters.state() === 'redis')
    t.match(await counters.count(clientOfKey('1')), { minute: { remaining: 8 } })
  },
)

t.test('a new connection beside the open one', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t, '--requirepass', 'open sesame')
  const cli = (password: string, ...args: string[]) =>
    redisCli('-p', `${redis.port}`, '-a', password, ...args)
  const { counters } = await startInstance(t, redis.url.replace('//', '//:open%20sesame@'))
  const tryConnecting = async () => counters.redis?.connection.tryConnecting()
  const clients = async (password = 'open sesame') =>
    (await cli(password, 'CLIENT', 'LIST', 'TYPE', 'normal')).trim().split('\n').length
  const before = await clients()

  t.test('is closed again, also one that fails', async (t) => {
    for (let i = 0; i < 3; i++) await tryConnecting()
    await until(async () => (await clients()) === before)
    await cli('open sesame', 'CONFIG', 'SET', 'requirepass', 'changed')
    await t.rejects(tryConnecting(), { message: /^WRONGPASS / })
    t.match(await counters.count(clientOfKey('1')), { isAdmitted: true })
    t.equal(counters.state(), 'redis', 'the open one serves')
    await until(async () => (await clients('changed')) === before)
  })

  t.test('is not tried while Redis is unavailable, which is known', async () => {
    await redis.kill()
    await until(async () => {
      await counters.count(clientOfKey('1'))
      return counters.state() === 'memory_fallback'
    })
    await tryConnecting()
  })
})

t.test('closing the connection during a probe ends the probing', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t)
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line).msg) })
  const config = { redisUrl: redis.url, redisTimeoutMs: 3_000, startTimeoutMs: 0 }
  const connection = new RedisConnection(redis.url, contract.title, config, log)
  await connection.open()
  t.teardown(() => connection.close())
  const client = connection.redis as Redis & { probeCounting(...keys: string[]): Promise<unknown> }
  const { probeCounting } = client
  const probes: Promise<unknown>[] = []
  client.probeCounting = function (...keys) {
    const probe = probeCounting.call(this, ...keys)
    if (this === client) probes.push(probe) // not a pipeline, which inherits the method
    return probe
  }
  redis.freeze()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  connection.markDown(new Error('a fault'))
  mock.timers.tick(250)
  t.equal(probes.length, 1, 'one probe is sent, without a reply')
  connection.close()
  await redis.kill()
  await t.rejects(Promise.all(probes))
  mock.timers.tick(60_000)
  t.equal(probes.length, 1)
  t.strictSame(logged, [unavailable, 'redis connection error'], 'the failed probe is logged once')
})

async function startInstance(
  t: Test,
  redisUrl: string,
  of: Pick<ServiceContract, 'title' | 'rateLimits'> = contract,
) {
  const app = Fastify()
  t.teardown(() => app.close())
  const log: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line)) })
  // Long enough for a busy machine.
  const config = { redisUrl, redisTimeoutMs: 3_000, startTimeoutMs: 0 }
  const counters: Counters = await createCounters(app, of, config, logger)
  return { counters, log }
}

// Resolves when the sentinel knows the replica by that port, and the replica is in sync with its master.
async function untilReplicated(sentinel: RedisServer, replica: RedisServer, port: string): Promise<void> {
  await untilOneReplies([sentinel], ['SENTINEL', 'REPLICAS', 'counters'], port)
  await untilOneReplies([replica], ['INFO', 'replication'], 'master_link_status:up')
}

function from(ip: string): FastifyRequest {
  return { ip, routeOptions: {} } as FastifyRequest // no other properties are read
}

function tlsFile(name: string): string {
  return fixture(`tls/${name}`)
}

function certificate(name: string): string[] {
  return [
    '--tls-cert-file',
    tlsFile(`${name}.pem`),
    '--tls-key-file',
    tlsFile(`${name}.key`),
    '--tls-ca-cert-file',
    tlsFile('ca.pem'),
  ]
}

/** Moves the slot of a key to another server, as `redis-cli --cluster reshard` does. */
async function moveSlot(t: Test, servers: readonly RedisServer[], key: string): Promise<void> {
  const finish = await beginMove(t, servers, key)
  await finish()
}

/**
 * Begins to move the slot of a key, like an interrupted reshard. Returns a function that finishes the move.
 */
async function beginMove(
  t: Test,
  servers: readonly RedisServer[],
  key: string,
): Promise<() => Promise<void>> {
  const nodes = servers.map(({ port }) => new Redis(port))
  t.teardown(() => {
    for (const node of nodes) node.disconnect()
  })
  const ids = await Promise.all(nodes.map((node) => node.cluster('MYID') as Promise<string>))
  const slot = await (nodes[0] as Redis).cluster('KEYSLOT', key)
  const isOwner = await Promise.all(
    nodes.map(async (node) =>
      node.exists(key).then(
        () => true,
        () => false,
      ),
    ),
  )
  const from = isOwner.indexOf(true)
  const to = (from + 1) % nodes.length
  const [source, target] = [nodes[from], nodes[to]] as [Redis, Redis]
  await target.cluster('SETSLOT', slot, 'IMPORTING', ids[from] as string)
  await source.cluster('SETSLOT', slot, 'MIGRATING', ids[to] as string)
  return async () => {
    for (;;) {
      const keys = (await source.cluster('GETKEYSINSLOT', slot, 10)) as string[]
      if (keys.length === 0) break
      for (const each of keys)
        await source.migrate('127.0.0.1', target.options.port as number, each, 0, 5_000)
    }
    for (const node of [target, source, ...nodes])
      await node.cluster('SETSLOT', slot, 'NODE', ids[to] as string)
  }
}
