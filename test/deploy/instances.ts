// Several instances, with the files of deploy/ for a machine of several cores: quotas are exact over all of
// them, and an instance can be replaced, or killed, without a failed request.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { runProgram, type ServiceProcess, startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import { readConfig } from 'contract-service/internal/config'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { fitConnections } from 'contract-service/internal/process/open-files'
import { kill } from 'contract-service/tools/lib/child'
import { freePort } from 'contract-testing/port'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { missing } from '../fixtures/programs.js'
import { type Answer, contract, createDatabase, send } from '../fixtures/service.js'

const run = promisify(execFile)
const folder = path.join(projectRoot, 'deploy')
const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')

const haproxyIsMissing = missing('haproxy')
const nginxIsMissing = missing('nginx')

// A unit's or an environment file's variables.
function variablesOf(file: string): Record<string, string> {
  return variablesIn(read(file))
}

function variablesIn(text: string): Record<string, string> {
  const lines = text.match(/^(?:Environment=)?[A-Z_]+=.*$/gm) ?? []
  const pairs = lines.flatMap((line) => line.replace(/^Environment=/, '').split(/ (?=[A-Z_]+=)/))
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
}

const unit = read('systemd/animal-store@.service')
const unitVariables = {
  ...variablesOf('systemd/animal-store@.service'),
  ...variablesOf('systemd/service.env'),
}

t.test('every variable of the units is one that the service, or `migrate`, reads', async (t) => {
  const { NODE_ENV: _, ...service } = unitVariables
  const { NODE_ENV, ...migrations } = {
    ...variablesOf('systemd/animal-store-migrations.service'),
    ...variablesOf('systemd/migrations.env'),
  }
  for (const variables of [service, migrations]) {
    const environment = JSON.parse(JSON.stringify(variables).replaceAll('%i', '3001'))
    t.ok(Object.keys(environment).length > 3)
    t.strictSame(readConfig(environment).misspelt, [])
  }
  const known = readFileSync(path.join(projectRoot, 'packages/service/src/config.ts'), 'utf8')
  for (const name of Object.keys({ ...service, ...migrations })) t.match(known, `'${name}'`)
})

t.test('units that share a port have one user, and a metrics port each', async (t) => {
  const shared = read('systemd/service.env').replaceAll(/^#(?=[A-Z_]+=)/gm, '')
  for (const port of [3001, 3002]) {
    const variables = { ...unitVariables, ...variablesIn(shared) }
    const config = readConfig(JSON.parse(JSON.stringify(variables).replaceAll('%i', String(port))))
    t.match(config, { reusePort: true, port: 3000, metricsPort: 10_000 + port, misspelt: [] })
  }
  t.match(unit, /^User=[a-z-]+$/m, 'the kernel lets no other user join')
})

t.test('a unit gives a shutdown its time, and open files for all connections', async (t) => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  const files = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1])
  const { SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS } = unitVariables
  const config = readConfig({ SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS })
  t.ok(seconds * 1000 > config.shutdownDelayMs + config.shutdownTimeoutMs)
  t.equal(fitConnections(config, { warn: () => t.fail() }, files), config)
})

const systemdIsMissing = missing('systemd-analyze', '--version')
t.test('systemd accepts the units', { skip: systemdIsMissing }, async (t) => {
  const directory = temporaryDirectory(t)
  const units = readdirSync(path.join(folder, 'systemd')).filter((name) => !name.endsWith('.env'))
  for (const name of units) {
    const text = read(`systemd/${name}`)
    // It looks for the programs.
    writeFileSync(path.join(directory, name), text.replaceAll(/\/usr\/bin\/(node|curl)/g, process.execPath))
  }
  const names = units.map((name) => path.join(directory, name.replace('@.', '@3001.')))
  const { stderr } = await run('systemd-analyze', ['--man=no', 'verify', ...names], { cwd: directory })
  t.notMatch(stderr, new RegExp(directory), 'nothing to say about them')
})

t.test('HAProxy accepts its configurations', { skip: haproxyIsMissing }, async (t) => {
  for (const name of ['haproxy.cfg', 'compose.cfg'])
    await t.resolves(run('haproxy', ['-c', '-f', path.join(folder, 'haproxy', name)]), name)
})

t.test('the balancers notice a stopping instance before its shutdown delay is over', async (t) => {
  const { shutdownDelayMs } = readConfig({ SHUTDOWN_DELAY_MS: unitVariables.SHUTDOWN_DELAY_MS })
  for (const name of ['haproxy.cfg', 'compose.cfg']) {
    const [, seconds, failures] = /check inter (\d+)s fall (\d+)/.exec(read(`haproxy/${name}`)) ?? []
    t.ok(Number(seconds) * Number(failures) * 1000 < shutdownDelayMs, name)
  }
})

/** Where an instance listens. */
interface Place {
  readonly host: string
  readonly port: number
  readonly metricsPort: number
}

interface Balancer {
  readonly name: string
  readonly skip: string | false
  /** Whether it takes in a body before it forwards the request, so that no instance can refuse it earlier. */
  readonly buffersBodies?: boolean
  readonly places: () => Promise<readonly Place[]>
  /** Starts it at a port, with the file of deploy/, in which ports are replaced. */
  readonly start: (t: Test, port: number, places: readonly Place[]) => Promise<ChildProcess> | ChildProcess
}

const options = { stdio: 'ignore' } as const
const balancers: readonly Balancer[] = [
  {
    name: 'HAProxy, as units of systemd',
    skip: haproxyIsMissing,
    places: unitPlaces,
    start: (t, port, places) => startHaproxy(t, atPlaces(read('haproxy/haproxy.cfg'), port, places)),
  },
  {
    name: 'nginx, as units of systemd',
    skip: nginxIsMissing,
    buffersBodies: true, // `proxy_request_buffering off` is for operations with large bodies
    places: unitPlaces,
    start: (t, port, places) => {
      const directory = temporaryDirectory(t)
      const file = path.join(directory, 'nginx.conf')
      const paths = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'].map(
        (each) => `${each}_temp_path ${each};`,
      )
      const http = `access_log off; ${paths.join(' ')} ${atPlaces(read('nginx/animal-store.conf'), port, places)}`
      writeFileSync(file, `daemon off; master_process off; pid nginx.pid; events {} http { ${http} }`)
      return spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr'], options)
    },
  },
  {
    name: 'HAProxy, as containers that DNS names',
    skip:
      haproxyIsMissing || (process.platform !== 'linux' && 'only Linux has more than one loopback address'),
    places: containerPlaces,
    start: async (t, port, places) => {
      const dns = await startDns(
        t,
        places.map(({ host }) => host),
      )
      const text = read('haproxy/compose.cfg')
        .replace('127.0.0.11:53', `127.0.0.1:${dns}`)
        .replace('service:3000 port 9464', `service:${places[0]?.port} port ${places[0]?.metricsPort}`)
      return startHaproxy(t, atPlaces(text, port, places))
    },
  },
]

const count = 4

// What systemd makes of the template: 3001 and 13001, but free ones.
async function unitPlaces(): Promise<Place[]> {
  const places: Place[] = []
  while (places.length < count) {
    const port = randomInt(3_100, 5_500)
    const place = { host: '127.0.0.1', port, metricsPort: Number(`1${port}`) }
    if ((await isFree(port)) && (await isFree(place.metricsPort))) places.push(place)
  }
  return places
}

// Containers have one port and many addresses.
async function containerPlaces(): Promise<Place[]> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  return Array.from({ length: count }, (_, i) => ({ host: `127.0.1.${i + 1}`, port, metricsPort }))
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, '127.0.0.1')
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.close()
  return listens
}

// The instances' lines of a file, and the port of the balancer's own.
function atPlaces(text: string, port: number, places: readonly Place[]): string {
  return text
    .replace(/^ {4}(user|group|chroot) .*\n/gm, '') // for whoever runs this
    .replace(/(bind |listen ):?3000/, (_, verb) => `${verb}127.0.0.1:${port}`)
    .replace(/127\.0\.0\.1:300([1-4])\b/g, (_, n) => `127.0.0.1:${places[n - 1]?.port}`)
    .replace(/port 1300([1-4])\b/g, (_, n) => `port ${places[n - 1]?.metricsPort}`)
}

function startHaproxy(t: Test, text: string): ChildProcess {
  const file = path.join(temporaryDirectory(t), 'haproxy.cfg')
  writeFileSync(file, text.replace('inter 2s', 'inter 50ms'))
  return spawn('haproxy', ['-db', '-f', file], options)
}

/** Starts a DNS server that gives any name these IPv4 addresses (RFC 1035, section 4.1). Returns its port. */
async function startDns(t: Test, addresses: readonly string[]): Promise<number> {
  const server = dgram.createSocket('udp4')
  const typeA = 1
  server.on('message', (query, { address, port }) => {
    const end = query.indexOf(0, 12) + 5 // the question's name, type and class
    const records = query.readUInt16BE(end - 4) === typeA ? addresses : []
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(0x8580, 2) // a response, without an error
    header.writeUInt16BE(records.length, 6)
    header.writeUInt32BE(0, 8)
    const answers = records.map((each) =>
      Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4, ...each.split('.').map(Number)]),
    )
    server.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port, address)
  })
  await once(server.bind(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return server.address().port
}

for (const { name, skip, buffersBodies, places: placesOf, start } of balancers) {
  const skipBody = skip || (buffersBodies === true && 'it takes in a body first')
  t.test(`${name}: a body of any size is refused before it has arrived`, { skip: skipBody }, async (t) => {
    const places = await placesOf()
    for (const { host, port, metricsPort } of places)
      for (const each of [port, metricsPort]) await startRefusing(t, host, each)
    const { port } = new URL(await startBalancer(t, start, places))
    const client = net.connect(Number(port), '127.0.0.1').setEncoding('utf8')
    t.teardown(() => client.destroy())
    client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\nthe first bytes')
    const [received] = await once(client, 'data')
    t.match(received, /^HTTP\/1.1 401 .*\r\nWWW-Authenticate: refused/is)
  })

  t.test(`four instances behind ${name}`, { skip: skip || redisIsMissing }, async (t) => {
    const { url } = await startDatabaseProxy(t, await createDatabase(t))
    const redis = await startRedis(t)
    const places = await placesOf()
    const startInstance = ({ host, port, metricsPort }: Place) =>
      startProcess(t, {
        ...JSON.parse(JSON.stringify(unitVariables).replaceAll('%i', String(port))),
        ...{ HOST: host, METRICS_PORT: String(metricsPort), PGPASSWORD: '', LOG_ADDRESS: 'true' },
        // A busy machine may be slow, and the counts must be Redis's.
        ...{ DATABASE_URL: url, REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '10000', SHUTDOWN_DELAY_MS: '2000' },
      })
    const instances = await Promise.all(places.map(startInstance))
    const origin = await startBalancer(t, start, places)
    const list = `${origin}${contract.prefix}/pets`
    const caller = async (...terms: string[]) => {
      const args = ['create', '--name', 'x', ...terms]
      const { stdout } = await runProgram('commands/keys.ts', args, { DATABASE_URL: url })
      return { authorization: `Bearer ${stdout.trim()}` }
    }

    t.test('share the requests and one exact quota', async (t) => {
      const key = await caller('--plan', 'enterprise', '--per-minute', '20', '--per-day', '1000')
      // On a starved machine the balancer may lose sight of all instances for a moment.
      const served = async (): Promise<Answer> => {
        const answer = await send(list, 'GET', key)
        return answer.status === 503 ? served() : answer
      }
      const answers = await Promise.all(Array.from({ length: 30 }, served))
      const statuses = answers.map(({ status }) => status).sort()
      t.strictSame(statuses, [...Array(20).fill(200), ...Array(10).fill(429)])
      await until(async () => {
        await send(list, 'GET', key)
        return instances.every(({ log }) => log.some(isListed))
      })
    })

    t.test('count callers by the address that the balancer saw', async (t) => {
      const claim = { 'x-forwarded-for': '192.0.2.1' }
      await until(async () => (await send(list, 'GET', claim)).status === 401)
      const refused = ({ log }: ServiceProcess) => log.filter(({ status }) => status === 401)
      await until(() => instances.some((each) => refused(each).length > 0))
      t.match(instances.flatMap(refused), [{ address: '127.0.0.1' }])
    })

    t.test('are replaced one after the other: no request fails', async (t) => {
      const key = await caller('--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000')
      const load = startLoad(list, key)
      await until(() => load.count() > 100)
      for (const [i, place] of places.entries()) {
        t.match(await instances[i]?.stop(), { code: 0 })
        instances[i] = await startInstance(place)
        await untilSystemdIsDone(place)
      }
      const before = load.count()
      await until(() => load.count() > before + 100)
      t.strictSame(await load.stop(), [], 'every response was 200')
    })
  })
}

t.test(
  'the rollout of Compose replaces instances behind HAProxy: no request fails',
  {
    skip:
      haproxyIsMissing || (process.platform !== 'linux' && 'only Linux has more than one loopback address'),
  },
  async (t) => {
    const { url } = await startDatabaseProxy(t, await createDatabase(t))
    const places = await containerPlaces()
    const own = { DATABASE_URL: url, TRUST_PROXY: 'loopback', SHUTDOWN_DELAY_MS: '2000' }
    const startAt = ({ host, port, metricsPort }: Place) =>
      startProcess(t, { ...own, HOST: host, PORT: String(port), METRICS_PORT: String(metricsPort) })
    const engine = await startEngine(t, places, startAt)
    await engine.scaleTo(2)
    const dns = await startDns(t, engine.addresses)
    const text = read('haproxy/compose.cfg')
      .replace('127.0.0.11:53', `127.0.0.1:${dns}`)
      .replace('service:3000 port 9464', `service:${places[0]?.port} port ${places[0]?.metricsPort}`)
    const origin = await startBalancer(t, (t, port) => startHaproxy(t, atPlaces(text, port, places)), places)
    const quotas = ['--per-minute', '1000000', '--per-day', '1000000']
    const args = ['create', '--name', 'x', '--plan', 'enterprise', ...quotas]
    const { stdout } = await runProgram('commands/keys.ts', args, { DATABASE_URL: url })
    const load = startLoad(`${origin}${contract.prefix}/pets`, { authorization: `Bearer ${stdout.trim()}` })
    await until(() => load.count() > 100)
    await run(path.join(folder, 'compose/rollout'), [], {
      env: { ...process.env, PATH: `${engine.programs}:${process.env.PATH}` },
    })
    const before = load.count()
    await until(() => load.count() > before + 100)
    t.strictSame(await load.stop(), [], 'every response was 200')
    t.strictSame(
      engine.addresses,
      places.slice(2).map(({ host }) => host),
      'the new ones run',
    )
    t.comment(`${load.count()} requests`)
  },
)

/** A container engine of processes, as far as the rollout asks for one: `docker` is in `programs`. */
async function startEngine(
  t: Test,
  places: readonly Place[],
  startAt: (place: Place) => Promise<ServiceProcess>,
) {
  const containers = new Map<string, ServiceProcess>()
  const addresses: string[] = [] // what the engine's DNS knows
  const scaleTo = async (count: number) => {
    for (const place of places.slice(containers.size, count)) {
      addresses.push(place.host) // as Docker's, before it listens
      containers.set(place.host, await startAt(place))
    }
  }
  const commands: readonly [RegExp, (argument: string) => unknown][] = [
    [/^compose ps --quiet service$/, () => [...containers.keys()].join('\n')],
    [/^compose run --rm --build --no-TTY migrations$/, () => ''],
    [/^compose up .* --scale service=(\d+) service$/, (count) => scaleTo(Number(count))],
    [
      /^stop -t 30 (\S+)$/,
      async (id) => {
        await containers.get(id)?.stop()
        addresses.splice(addresses.indexOf(id), 1)
      },
    ],
    [/^rm \S+$/, () => ''],
  ]
  const server = http.createServer(async ({ url = '' }, response) => {
    const text = new URL(url, 'http://x').searchParams.get('args') ?? ''
    for (const [command, act] of commands) {
      const [, argument = ''] = command.exec(text) ?? []
      if (command.test(text)) return void response.end(String((await act(argument)) ?? ''))
    }
    response.writeHead(400).end(text)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as net.AddressInfo
  const programs = temporaryDirectory(t)
  const curl = `curl --silent --fail --get --data-urlencode "args=$*" http://127.0.0.1:${port}/`
  writeFileSync(path.join(programs, 'docker'), `#!/bin/sh\nexec ${curl}\n`, { mode: 0o755 })
  return { programs, addresses, scaleTo }
}

/** An instance that is well, and refuses each body by the head of its request. */
async function startRefusing(t: Test, host: string, port: number): Promise<void> {
  const server = http.createServer(({ method }, response) => {
    if (method === 'POST') response.writeHead(401, { 'WWW-Authenticate': 'refused' })
    response.end()
  })
  await once(server.listen(port, host), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
}

const isListed = ({ route }: Record<string, unknown>) => route === `${contract.prefix}/pets`

// `systemctl restart` returns then.
async function untilSystemdIsDone({ host, metricsPort }: Place): Promise<void> {
  const [, program = '', args = ''] = /^ExecStartPost=(\S+) (.*)$/m.exec(unit) ?? []
  const address = args.replaceAll('127.0.0.1:1%i', `${host}:${metricsPort}`)
  await run(path.basename(program), address.split(' '))
}

async function startBalancer(t: Test, start: Balancer['start'], places: readonly Place[]): Promise<string> {
  const port = await freePort()
  const balancer = await start(t, port, places)
  t.teardown(() => kill(balancer))
  const origin = `http://127.0.0.1:${port}`
  await until(() =>
    send(`${origin}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  return origin
}

/** Eight clients that read without a pause; returns what they got that was no 200. */
function startLoad(url: string, headers: Record<string, string>) {
  const failures: unknown[] = []
  let count = 0
  let isOn = true
  const client = async () => {
    while (isOn) {
      const status = await send(url, 'GET', headers).then((answer) => answer.status, String)
      if (status !== 200) failures.push(status)
      count += 1
    }
  }
  const clients = Promise.all(Array.from({ length: 8 }, client))
  return {
    count: () => count,
    stop: async () => {
      isOn = false
      await clients
      return failures
    },
  }
}
