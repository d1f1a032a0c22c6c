import { readFileSync } from 'node:fs'
import path from 'node:path'
import { mock } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyRequest } from 'fastify'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/lib/port.js'
import { type RedisServer, redisCli, untilOneSays } from '../../scripts/lib/redis.js'
import type { Client } from '../../src/auth/client.js'
import type { Contract } from '../../src/contract/types.js'
import { OperatorError } from '../../src/operator-error.js'
import { projectRoot } from '../../src/paths.js'
import { type Counters, createCounters } from '../../src/rate-limit/counters.js'
import { RedisConnection } from '../../src/rate-limit/redis-connection.js'
import { countBy } from '../fixtures/count.js'
import { dataDirectory } from '../fixtures/data-directory.js'
import { runProgram, startProcess } from '../fixtures/process.js'
import { redisIsMissing, startRedis, startRedisCluster, startSentinel } from '../fixtures/redis.js'
import { contract } from '../fixtures/service.js'
import { until } from '../fixtures/until.js'

const away = 'redis is away: this instance counts on its own'
const forgets = 'redis forgets counts when its memory is full: set maxmemory-policy to noeviction'
const perMinute = 300

const operating = readFileSync(path.join(projectRoot, 'docs/operating.md'), 'utf8')
const leastRole = /^ACL SETUSER .+/m.exec(operating)?.[0].split(' ') ?? []

t.test('a start', { skip: redisIsMissing }, async (t) => {
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
    ['a role that may not count', `redis://reader:p@127.0.0.1:${redis.port}`, 'NOPERM '],
    ['a role of other keys', `redis://stranger:p@127.0.0.1:${redis.port}`, 'NOPERM '],
    ['a database that is not there', `redis://${login}127.0.0.1:${redis.port}/99`, 'ERR DB index'],
    [
      'an unknown certificate authority',
      `rediss://localhost:${tlsPort}`,
      'self-signed certificate in certificate chain',
    ],
    ['a host without an address', 'redis://counters.invalid', 'getaddrinfo ENOTFOUND counters.invalid'],
    [
      'a server that is no cluster',
      `redis+cluster://${login}127.0.0.1:${redis.port}`,
      'ERR This instance has cluster support disabled',
    ],
    ['a wrong password of a cluster', `redis+cluster://:wrong@127.0.0.1:${redis.port}`, 'WRONGPASS '],
    [
      'an unknown authority of a cluster',
      `rediss+cluster://localhost:${tlsPort},127.0.0.1:${unused}`,
      'self-signed certificate in certificate chain',
    ],
    [
      'a cluster without an address',
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
      'an unknown authority of sentinels',
      `rediss+sentinel://localhost:${tlsPort}/counters`,
      'self-signed certificate in certificate chain',
    ],
    [
      'sentinels without an address',
      'redis+sentinel://a.invalid/counters',
      'getaddrinfo ENOTFOUND a.invalid',
    ],
  ] as const)
    t.test(`ends at ${what}`, async (t) => {
      const error = await startInstance(t, url).catch((error: Error) => error)
      t.ok(error instanceof OperatorError, 'which an operator can mend')
      const { message } = error as Error
      t.match(message, /^Cannot use the Redis at \S+:\d+(, \S+:\d+)?: /)
      t.equal(message.replace(/^.*?: /, '').slice(0, reason.length), reason)
      t.match(message, /\nCorrect it or REDIS_URL/)
      t.notMatch(message, /sesame|wrong/, 'and no password is said')
    })

  t.test('that ends says it plainly, with the exit code of any other', async (t) => {
    const { code, stdout, stderr } = await runProgram('src/main.ts', [], {
      DATA_DIR: dataDirectory(t),
      PORT: '0',
      REDIS_URL: `redis://:wrong@127.0.0.1:${redis.port}`,
    })
    t.equal(code, 1)
    t.match(
      stderr,
      /^The service cannot start\.\nCannot use the Redis at 127\.0\.0\.1:\d+: WRONGPASS .*\n.*\n$/,
    )
    t.notMatch(stdout, away)
  })

  for (const [what, url] of [
    ['a server', `redis://127.0.0.1:${unused}`],
    ['a cluster', `redis+cluster://127.0.0.1:${unused}`],
    ['sentinels', `redis+sentinel://127.0.0.1:${unused}/counters`],
  ] as const)
    t.test(`goes on without ${what} that is only away, and says why`, async (t) => {
      const { counters, log } = await startInstance(t, url)
      t.equal(counters.state(), 'memory_fallback')
      t.match(log, [{ level: 40, msg: away, reason: `connect ECONNREFUSED 127.0.0.1:${unused}` }])
      t.match(await counters.count(clientOf('1')), { isAdmitted: true })
    })

  t.test('trusts the authorities of NODE_EXTRA_CA_CERTS', async (t) => {
    const service = await startProcess(t, {
      DATA_DIR: dataDirectory(t),
      REDIS_URL: `rediss://localhost:${tlsPort}`,
      NODE_EXTRA_CA_CERTS: tlsFile('ca.pem'),
    })
    t.match(await (await fetch(new URL('/readyz', service.base))).json(), { counters: 'redis' })
    await service.stop()
  })

  t.test('takes the least role that is documented', async (t) => {
    const { port, url } = await startRedis(t)
    const cli = (...args: string[]) => redisCli('-p', `${port}`, ...args)
    t.equal(await cli(...leastRole), 'OK\n')
    const { counters, log } = await startInstance(t, url.replace('//', '//animal-store:secret@'))
    const { ban } = contract.rateLimits
    const client = clientOf('1', 2)
    for (const isAdmitted of [true, true, false]) t.match(await counters.count(client), { isAdmitted })
    for (let i = 0; i < ban.rejections; i++) t.equal(await counters.reject(client), undefined)
    t.match(await counters.reject(client), { remaining: 0 })
    await counters.address(from('192.0.2.1'))
    await counters.address(from('2001:db8::1'), { increment: false })
    t.equal(counters.state(), 'redis')
    t.strictSame(log, [])
    const names = (await cli('KEYS', '*')).trim().split('\n').sort()
    t.strictSame(
      names.filter((name) => !name.endsWith(':probe')),
      [
        'animal-store-service:address:{192.0.2.1}',
        ...['ban', 'day', 'minute', 'rejections'].map((kind) => `animal-store-service:{1}:${kind}`),
      ],
    )
    const commands = leastRole.filter((each) => /^[+](?!info)/.test(each))
    t.equal(commands.length, 8)
    for (const one of commands) {
      await cli(...leastRole, one.replace('+', '-'))
      const refused = startInstance(t, url.replace('//', '//animal-store:secret@'))
      await t.rejects(refused, { name: 'OperatorError' }, `and none without ${one}`)
    }
    await cli(...leastRole, '-info')
    t.strictSame((await startInstance(t, url.replace('//', '//animal-store:secret@'))).log, [])
  })

  t.test('counts the clients of each service for itself', async (t) => {
    const { url } = await startRedis(t)
    const left = { remaining: contract.rateLimits.anonymous.perMinute - 1 }
    const titles = [contract.title, 'Pat’s {Toys}', '玩具']
    for (const title of titles) {
      const { counters } = await startInstance(t, url, { ...contract, title })
      t.match(await counters.count(clientOf('1', 2)), { minute: { remaining: 1 } }, title)
      await counters.address(from('192.0.2.1'))
      t.match(await counters.address(from('192.0.2.1'), { increment: false }), left, title)
    }
  })

  t.test('warns of counts that may be evicted', async (t) => {
    const evicting = await startRedis(t, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru')
    t.match((await startInstance(t, evicting.url)).log, [{ level: 40, msg: forgets, policy: 'allkeys-lru' }])
    const keeping = await startRedis(t, '--maxmemory', '50mb', '--maxmemory-policy', 'noeviction')
    t.strictSame((await startInstance(t, keeping.url)).log, [])
  })
})

t.test(
  'TLS with an authority of NODE_EXTRA_CA_CERTS, and a failover',
  { skip: redisIsMissing },
  async (t) => {
    // Counts in Redis, notices that the master that counts is killed, and counts in its replica.
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

    t.test('holds in a cluster', async (t) => {
      const ports: string[] = []
      const cluster = await startRedisCluster(t, async () => {
        const { port, settings } = await encrypted('address')
        ports.push(port)
        return [...settings, '--tls-cluster', 'yes']
      })
      const url = `rediss+cluster://127.0.0.1:${ports[0]}`
      await failsOver(t, url, () => cluster.masterOf('*:address:*'))
    })

    t.test('holds by sentinels', async (t) => {
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

t.test('a login that is refused later is told once in an outage', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t)
  const { counters, log } = await startInstance(t, redis.url)
  const cli = (...args: string[]) => redisCli('-p', `${redis.port}`, ...args)
  await cli('CONFIG', 'SET', 'requirepass', 'new')
  await cli('-a', 'new', 'CLIENT', 'KILL', 'TYPE', 'normal')
  const refused = { level: 50, reason: /^NOAUTH /, msg: 'redis stays away until this is mended' }
  await until(async () => {
    await counters.count(clientOf('1'))
    return log.length > 1
  })
  const refusals = async () =>
    Number(/errorstat_NOAUTH:count=(\d+)/.exec(await cli('-a', 'new', 'INFO', 'errorstats'))?.[1])
  const before = await refusals()
  await until(async () => (await refusals()) > before + 2) // a probe that is told of is told of before the next
  t.match(log, [{ level: 40, msg: away, reason: 'the connection was closed' }, refused])
  t.equal(log.length, 2)
})

t.test('a cluster', { skip: redisIsMissing }, async (t) => {
  const { masters: servers, url } = await startRedisCluster(t)
  const pair = [await startInstance(t, url), await startInstance(t, url)] as const

  t.test('admits exactly the quota of clients on all of its servers, over two instances', async (t) => {
    const clients = Array.from({ length: 20 }, (_, i) => clientOf(`exact ${i}`, 30))
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

  t.test('may move a slot from server to server while it is counted in', async (t) => {
    const client = clientOf('moved', perMinute)
    let admitted = 0
    let isMoving = true
    const load = pair.map(async ({ counters }) => {
      while (isMoving) {
        if ((await counters.count(client)).isAdmitted) admitted++
        await delay(1)
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

  t.test('takes the least role that is documented', async (t) => {
    for (const { port } of servers) await redisCli('-p', `${port}`, ...leastRole, '+cluster|slots')
    const { counters, log } = await startInstance(t, url.replace('//', '//animal-store:secret@'))
    const clients = ['one', 'two', 'three', 'four', 'five'].map((keyId) => clientOf(keyId))
    for (const client of clients) t.match(await counters.count(client), { isAdmitted: true })
    t.match({ state: counters.state(), log }, { state: 'redis', log: [] })
  })

  t.test('is refused by the URL of a single server', async (t) => {
    for (const { url } of servers)
      await t.rejects(startInstance(t, url), { message: /(: MOVED |redis\+cluster:\/\/)/ })
  })

  t.test(
    'may lose a master: its clients and all others are counted on, and shared when a replica takes over',
    async (t) => {
      const [first, second] = pair
      const clients = Array.from({ length: 12 }, (_, i) => clientOf(`lost ${i}`, 10))
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
        'which is said once',
      )
      for (const { counters } of pair) {
        const counted = await Promise.all(clients.map((client) => counters.count(client)))
        t.ok(
          counted.every(({ isAdmitted }) => !isAdmitted),
          'what was counted meanwhile is shared',
        )
      }
      t.match(
        { state: second.counters.state(), log: second.log },
        { state: 'redis', log: [] },
        'who asked nothing missed nothing',
      )
    },
  )
})

t.test('a master that sentinels name', { skip: redisIsMissing }, async (t) => {
  const master = await startRedis(t, '--repl-diskless-sync-delay', '0')
  const replica = await startRedis(t, '--replicaof', '127.0.0.1', `${master.port}`)
  const sentinel = await startSentinel(t, master.port)
  await untilReplicated(sentinel, replica, `${replica.port}`)
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}/counters/0`
  const pair = [await startInstance(t, url), await startInstance(t, url)] as const
  const clients = { used: clientOf('used', perMinute), half: clientOf('half', perMinute) }
  const spread = async (client: Client, times: number) => {
    const asked = Array.from({ length: times }, (_, i) => pair[i % 2]?.counters.count(client))
    return (await Promise.all(asked)).filter((each) => each?.isAdmitted).length
  }

  t.equal(await spread(clients.used, 2 * perMinute), perMinute, 'admits exactly the quota over two instances')
  t.equal(await spread(clients.half, perMinute / 2), perMinute / 2)
  const writer = new Redis(master.port, { retryStrategy: null })
  await writer.set('last', 1)
  t.equal(await writer.wait(1, 10_000), 1, 'which the replica has')
  await master.kill()
  t.equal(await spread(clients.used, 200), 0, 'a used quota stays used while no master is there')
  await untilOneSays([sentinel], ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'counters'], `${replica.port}`)
  await until(() => pair.every(({ counters }) => counters.state() === 'redis'))
  t.equal(await spread(clients.used, 200), 0, 'and when the replica is the master')
  t.equal(await spread(clients.half, 2 * perMinute), perMinute / 2, 'and the rest of another is exact again')
  for (const { log } of pair) t.match(log, [{ level: 40, msg: away }, { level: 30 }])
})

t.test(
  'what is not carried over begins anew, once for each place that counts',
  { skip: redisIsMissing },
  async (t) => {
    const redis = await startRedis(t)
    const pair = [await startInstance(t, redis.url), await startInstance(t, redis.url)] as const
    const [{ counters: first }, { counters: second }] = pair
    const { anonymous, ban } = contract.rateLimits
    const guesser = from('192.0.2.1')
    const useUp = async (counters: Counters, keyId: string) => {
      await counters.count(clientOf(keyId))
      const guesses = Array.from({ length: anonymous.perMinute }, () => counters.address(guesser))
      t.ok((await Promise.all(guesses)).every(({ isExceeded }) => !isExceeded))
      const rejected = Array.from({ length: ban.rejections }, () => counters.reject(clientOf(keyId)))
      t.ok((await Promise.all(rejected)).every((begun) => begun === undefined))
      t.match(await counters.address(guesser), { isExceeded: true }, 'an address has its allowance')
    }
    await useUp(first, '1')
    t.match(await second.address(guesser), { isExceeded: true }, 'which is shared')
    await redis.kill()
    await useUp(first, '1')
    await useUp(second, '1')
    t.match(await first.reject(clientOf('1')), { remaining: 0 }, 'a ban begins')
    await redis.start()
    await until(() => pair.every(({ counters }) => counters.state() === 'redis'))
    await useUp(first, '2')
    t.match(await second.address(guesser), { isExceeded: true })
    t.match(await first.count(clientOf('1')), { isAdmitted: false, ban: { remaining: 0 } })
    t.match(
      await second.count(clientOf('1')),
      { isAdmitted: false, ban: { remaining: 0 } },
      'and is carried over',
    )
  },
)

t.test(
  'a master that is made a replica is away until it is one again',
  { skip: redisIsMissing },
  async (t) => {
    const [redis, other] = [await startRedis(t), await startRedis(t)]
    const { counters, log } = await startInstance(t, redis.url)
    await redisCli('-p', `${redis.port}`, 'REPLICAOF', '127.0.0.1', `${other.port}`)
    t.match(await counters.count(clientOf('1')), { isAdmitted: true })
    t.match(log, [{ level: 40, msg: away, reason: /READONLY/ }])
    await redisCli('-p', `${redis.port}`, 'REPLICAOF', 'NO', 'ONE')
    await until(() => counters.state() === 'redis')
    t.match(await counters.count(clientOf('1')), { minute: { remaining: 8 } })
  },
)

t.test('one that is closed while it is tried is not tried again', { skip: redisIsMissing }, async (t) => {
  const redis = await startRedis(t)
  const told: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void told.push(JSON.parse(line).msg) })
  const config = { redisUrl: redis.url, redisTimeoutMs: 3_000, startTimeoutMs: 0 }
  const connection = new RedisConnection(redis.url, contract.title, config, log)
  await connection.open()
  t.teardown(() => connection.close())
  const client = connection.redis as Redis & { probeCounting(key: string): Promise<unknown> }
  const { probeCounting } = client
  const probes: Promise<unknown>[] = []
  client.probeCounting = function (key) {
    const probe = probeCounting.call(this, key)
    if (this === client) probes.push(probe) // and not a pipeline, which has the method from it
    return probe
  }
  redis.freeze()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  connection.lost(new Error('a fault'))
  mock.timers.tick(250)
  t.equal(probes.length, 1, 'it is tried, and says nothing')
  connection.close()
  await redis.kill()
  await t.rejects(Promise.all(probes))
  mock.timers.tick(60_000)
  t.equal(probes.length, 1)
  t.strictSame(told, [away, 'redis connection'], 'how that ended, once')
})

async function startInstance(
  t: Test,
  redisUrl: string,
  of: Pick<Contract, 'title' | 'rateLimits'> = contract,
) {
  const app = Fastify()
  t.teardown(() => app.close())
  const log: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line)) })
  // On a machine as busy as it likes, a Redis that takes longer hangs.
  const config = { redisUrl, redisTimeoutMs: 3_000, startTimeoutMs: 0 }
  const counters: Counters = await createCounters(app, of, config, logger)
  return { counters, log }
}

// When the sentinel knows the replica, by that port, and the replica has what its master has.
async function untilReplicated(sentinel: RedisServer, replica: RedisServer, port: string): Promise<void> {
  await untilOneSays([sentinel], ['SENTINEL', 'REPLICAS', 'counters'], port)
  await untilOneSays([replica], ['INFO', 'replication'], 'master_link_status:up')
}

function clientOf(keyId: string, perMinute = 10): Client {
  return { keyId, plan: 'free', quotas: { perMinute, perDay: 10_000 }, expiresAt: undefined }
}

function from(ip: string): FastifyRequest {
  return { ip, routeOptions: {} } as FastifyRequest // all that is looked at
}

function tlsFile(name: string): string {
  return path.join(projectRoot, 'test/fixtures/tls', name)
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
  for (;;) {
    const keys = (await source.cluster('GETKEYSINSLOT', slot, 10)) as string[]
    if (keys.length === 0) break
    for (const each of keys) await source.migrate('127.0.0.1', target.options.port as number, each, 0, 5_000)
  }
  for (const node of [target, source, ...nodes])
    await node.cluster('SETSLOT', slot, 'NODE', ids[to] as string)
}
