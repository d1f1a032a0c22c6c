// Several instances, with the files of deploy/ for a machine of several cores: quotas are exact over all of them, and
// an instance can be replaced, or killed, without a failed request.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { kill } from '../../../scripts/lib/child.js'
import { freePort } from '../../../scripts/lib/port.js'
import { readConfig } from '../../../src/config.js'
import { projectRoot } from '../../../src/lib/paths.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import { runProgram, type ServiceProcess, startProcess } from '../../fixtures/process.js'
import { startDatabaseProxy } from '../../fixtures/proxy.js'
import { redisIsMissing, startRedis } from '../../fixtures/redis.js'
import { type Answer, contract, createDatabase, send } from '../../fixtures/service.js'
import { until } from '../../fixtures/until.js'

const run = promisify(execFile)
const folder = path.join(projectRoot, 'deploy')
const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')

const missing = (program: string, ...args: string[]) =>
  spawnSync(program, args).error !== undefined && `no ${program} in PATH: apt-get install ${program}`
const haproxyIsMissing = missing('haproxy', '-v')
const nginxIsMissing = missing('nginx', '-v')

// A unit's or an environment file's variables.
function variablesOf(file: string): Record<string, string> {
  const lines = read(file).match(/^(?:Environment=)?[A-Z_]+=.*$/gm) ?? []
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
  const known = readFileSync(path.join(projectRoot, 'src/config.ts'), 'utf8')
  for (const name of Object.keys({ ...service, ...migrations })) t.match(known, `'${name}'`)
})

t.test('a unit gives a shutdown its time, and more files than connections', async (t) => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  const files = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1])
  const { SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS } = unitVariables
  const config = readConfig({ SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS })
  t.ok(seconds * 1000 > config.shutdownDelayMs + config.shutdownTimeoutMs)
  t.ok(files > config.connectionsMax)
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

interface Balancer {
  readonly name: string
  readonly skip: string | false
  /** Starts it with the file of deploy/, whose ports are replaced. */
  readonly start: (directory: string, replaced: (text: string) => string) => ChildProcess
}

const options = { stdio: 'ignore' } as const
const balancers: readonly Balancer[] = [
  {
    name: 'HAProxy',
    skip: haproxyIsMissing,
    start: (directory, replaced) => {
      const file = path.join(directory, 'haproxy.cfg')
      writeFileSync(file, replaced(read('haproxy/haproxy.cfg')).replace('inter 2s', 'inter 50ms'))
      return spawn('haproxy', ['-db', '-f', file], options)
    },
  },
  {
    name: 'nginx',
    skip: nginxIsMissing,
    start: (directory, replaced) => {
      const file = path.join(directory, 'nginx.conf')
      const paths = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'].map(
        (each) => `${each}_temp_path ${each};`,
      )
      const http = `access_log off; ${paths.join(' ')} ${replaced(read('nginx/animal-store.conf'))}`
      writeFileSync(file, `daemon off; master_process off; pid nginx.pid; events {} http { ${http} }`)
      return spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr'], options)
    },
  },
]

for (const { name, skip, start } of balancers) {
  t.test(`instances behind ${name}`, { skip: skip || redisIsMissing }, async (t) => {
    const { url } = await startDatabaseProxy(t, await createDatabase(t))
    const redis = await startRedis(t)
    const env = {
      // A busy machine may be slow, and the counts must be Redis's.
      ...{ DATABASE_URL: url, REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '10000', METRICS_PORT: '0' },
      ...{ TRUST_PROXY: unitVariables.TRUST_PROXY ?? '', LOG_ADDRESS: 'true', SHUTDOWN_DELAY_MS: '2000' },
    }
    const instances = [await startProcess(t, env), await startProcess(t, env)] as const
    const origin = await startBalancer(t, start, await Promise.all(instances.map(portsOf)))
    const list = `${origin}${contract.prefix}/pets`
    const caller = async (...terms: string[]) => {
      const args = ['create', '--name', 'x', ...terms]
      const { stdout } = await runProgram('src/commands/keys.ts', args, { DATABASE_URL: url })
      return { authorization: `Bearer ${stdout.trim()}` }
    }

    t.test('are ready for systemd, which waits for that', async (t) => {
      const [, program = '', args = ''] = /^ExecStartPost=(\S+) (.*)$/m.exec(unit) ?? []
      const { metrics } = await portsOf(instances[0])
      await t.resolves(run(path.basename(program), args.replaceAll('1%i', metrics).split(' ')))
    })

    t.test('share the requests and one exact quota', async (t) => {
      const key = await caller('--plan', 'enterprise', '--per-minute', '20', '--per-day', '1000')
      // On a starved machine the balancer may lose sight of both instances for a moment.
      const served = async (): Promise<Answer> => {
        const answer = await send(list, 'GET', key)
        return answer.status === 503 ? served() : answer
      }
      const answers = await Promise.all(Array.from({ length: 30 }, served))
      const statuses = answers.map(({ status }) => status).sort()
      t.strictSame(statuses, [...Array(20).fill(200), ...Array(10).fill(429)])
      await until(() => instances.every(({ log }) => log.some(isRequest))) // each has served some
    })

    t.test('count callers by the address that the balancer saw', async (t) => {
      const claim = { 'x-forwarded-for': '192.0.2.1' }
      await until(async () => (await send(list, 'GET', claim)).status === 401)
      const refused = ({ log }: ServiceProcess) => log.filter(({ status }) => status === 401)
      await until(() => instances.some((each) => refused(each).length > 0))
      t.match(instances.flatMap(refused), [{ address: '127.0.0.1' }])
    })

    t.test('can be stopped while the others serve: no request fails', async (t) => {
      const key = await caller('--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000')
      const load = startLoad(list, key)
      await until(() => load.count() > 100)
      t.match(await instances[0].stop(), { code: 0 })
      const before = load.count()
      await until(() => load.count() > before + 100)
      t.strictSame(await load.stop(), [], 'every response was 200')
    })
  })
}

const isRequest = ({ status }: Record<string, unknown>) => status === 200

interface Ports {
  readonly port: string
  readonly metrics: string
}

async function portsOf(service: ServiceProcess): Promise<Ports> {
  const { port } = await service.logged('metrics server listening')
  return { port: new URL(service.base).port, metrics: String(port) }
}

// The instances' lines of the file, and the port of the balancer's own.
async function startBalancer(t: Test, start: Balancer['start'], ports: readonly Ports[]): Promise<string> {
  const own = await freePort()
  const replaced = (text: string) =>
    text
      .replace(/(bind |listen ):?3000/, (_, verb) => `${verb}127.0.0.1:${own}`)
      .replace(/^.*127\.0\.0\.1:300([34]).*\n/gm, '')
      .replace(/127\.0\.0\.1:300([12])\b/g, (_, n) => `127.0.0.1:${ports[n - 1]?.port}`)
      .replace(/port 1300([12])\b/g, (_, n) => `port ${ports[n - 1]?.metrics}`)
  const balancer = start(temporaryDirectory(t), replaced)
  t.teardown(() => kill(balancer))
  const origin = `http://127.0.0.1:${own}`
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
