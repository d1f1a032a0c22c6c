import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { access, readdir, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { silent } from 'contract-service/fixtures/cluster'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { isRunning } from 'contract-service/fixtures/leftovers'
import { scrape } from 'contract-service/fixtures/metrics'
import { portsAreUnshared } from 'contract-service/fixtures/node'
import {
  runProgram,
  type ServiceProcess,
  signalGroup,
  startProcess,
  startProgram,
  temporaryDirectory,
} from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { createApiKey, hashApiKey } from 'contract-service/internal/auth/api-key'
import { insertApiKey } from 'contract-service/internal/database/api-keys'
import { connect } from 'contract-service/internal/database/connect'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { freePort } from 'contract-testing/port'
import { soon, until, untilReady } from 'contract-testing/until'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { ampleTerms, fixedPlan, prefix } from './fixtures/facts.js'
import { holdInserts } from './fixtures/locks.js'
import { createDatabase, send, sendRaw, testConfig } from './fixtures/service.js'

const run = promisify(execFile)

function keyOf({ welcome }: ServiceProcess): string {
  return /ask_\w+/.exec(welcome)?.[0] ?? ''
}

function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}

/** Connects to the embedded database of a service. */
async function joinDatabase(t: Test, dataDir: string): Promise<postgres.Sql> {
  const server = await startEmbedded(dataDir, silent)
  const sql = postgres({ ...server.connection, max: 2, fetch_types: false })
  t.teardown(async () => {
    await sql.end({ timeout: 1 })
    await server.stop()
  })
  return sql
}

// For tests that do not change the database. It runs as long as this file, so that no service has to create,
// start or stop it.
const sharedDir = dataDirectory(t)
const shared = await connect(testConfig({ DATA_DIR: sharedDir }), silent)
t.teardown(() => shared.close())
const sharedKey = createApiKey()
const terms = { name: 'test', plan: fixedPlan.name, perMinute: null, perDay: null, expiresAt: null }
await insertApiKey(shared.sql, { ...terms, scopes: [], createdBy: null, hash: hashApiKey(sharedKey) })

t.test('the first startup shows a demo key and a curl command that works when pasted', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const first = await startProcess(t, { DATA_DIR: dataDir })
  const line = first.welcome.split('\n').find((each) => each.trim().startsWith('curl')) ?? ''
  const { stdout } = await run('sh', ['-c', line.replace('curl', 'curl --silent')])
  t.match(stdout, /^HTTP\/1.1 200 OK/)
  t.match(stdout, /\[\]\n$/)
  const [page = ''] = /http:\S+\/docs$/m.exec(first.welcome) ?? []
  t.equal((await send(page)).status, 200, 'it shows the URL of the documentation')
  t.match(await first.stop(), { code: 0 })

  const second = await startProcess(t, { DATA_DIR: dataDir })
  t.equal(keyOf(second), '', 'a later startup shows no key')
  t.match(second.welcome, /npm run --silent keys -- create/, 'but how to create one')
  t.equal(
    (await send(`${second.base}/pets`, 'GET', bearer(keyOf(first)))).status,
    200,
    'the first key still works',
  )
  t.match(await second.stop('SIGINT'), { code: 0 })
})

t.test('the message names an address that a caller can use, though the service listens on all', async (t) => {
  const start = (env: Record<string, string>) => startProcess(t, { DATA_DIR: sharedDir, ...env })
  const everywhere = await start({ HOST: '0.0.0.0' })
  t.match(everywhere.base, /^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  t.equal((await send(`${everywhere.base}/pets`)).status, 401)
  const published = await start({ HOST: '0.0.0.0', PUBLIC_URL: 'http://store.example:4000/v1' })
  t.match(published.welcome, / at http:\/\/store\.example:4000\/v1\n.* http:\/\/store\.example:4000\/docs\n/)
  const moved = await start({ PUBLIC_URL: 'http://store.example/animals' })
  t.match(moved.base, 'http://127.0.0.1', 'behind a gateway with a prefix of its own, that of the service')
  for (const each of [everywhere, published, moved]) t.match(await each.stop(), { code: 0 })
})

t.test('a killed service loses no acknowledged write, and starts again at once', async (t) => {
  const dataDir = dataDirectory(t)
  const first = await startProcess(t, { DATA_DIR: dataDir })
  const made = await runProgram('commands/keys.ts', ['create', '--name', 'load', ...ampleTerms], {
    DATA_DIR: dataDir,
  })
  const headers = bearer(made.stdout.trim())
  const acknowledged: string[] = []
  const client = async () => {
    for (;;) {
      const response = await send(`${first.base}/pets`, 'POST', headers, { name: 'Rex', categoryId: 1 })
      if (response.status === 201) acknowledged.push(response.headers.get('location') ?? '')
      if (acknowledged.length === 200) first.child.kill('SIGKILL')
    }
  }
  await Promise.allSettled(Array.from({ length: 16 }, client)) // each fails when the service is killed
  t.match(await first.ended, { signal: 'SIGKILL' })
  t.ok(acknowledged.length >= 200)

  const second = await startProcess(t, { DATA_DIR: dataDir })
  const responses = await Promise.all(
    acknowledged.map((location) => send(location.replace(first.base, second.base), 'GET', headers)),
  )
  t.strictSame(
    responses.filter(({ status }) => status !== 200),
    [],
    `all ${acknowledged.length} exist`,
  )
  await second.stop()
})

t.test('two services share one data directory, and the last to stop stops the database', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const [first, second] = await Promise.all([
    startProcess(t, { DATA_DIR: dataDir }),
    startProcess(t, { DATA_DIR: dataDir }),
  ])
  const keys = [keyOf(first), keyOf(second)].filter(Boolean)
  t.equal(keys.length, 1, 'one of them created the demo key')
  const created = await send(`${first.base}/pets`, 'POST', bearer(keys[0] ?? ''), {
    name: 'Rex',
    categoryId: 1,
  })
  t.match(await first.stop(), { code: 0 })
  const location = created.headers.get('location') ?? ''
  const found = await send(location.replace(first.base, second.base), 'GET', bearer(keys[0] ?? ''))
  t.equal(found.text, created.text)
  t.match(await second.stop(), { code: 0 })
  await t.rejects(
    access(path.join(dataDir, 'postgresql/data/postmaster.pid')),
    'the database server has stopped',
  )
})

function isServed(url: string): Promise<boolean> {
  return send(url).then(
    () => true,
    () => false,
  )
}

t.test('a shutdown responds to accepted requests first', async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir })
  const sql = await joinDatabase(t, sharedDir)
  const held = await holdInserts(sql)
  const response = send(`${service.base}/pets`, 'POST', bearer(sharedKey), { name: 'Rex', categoryId: 1 })
  await held.someoneWaits()
  const ended = service.stop()
  await service.logged('stopping')
  // Once it is closing, it accepts no new connection.
  while (await isServed(`${service.base}/pets`));
  await held.release()
  t.match(await response, { status: 201 })
  t.equal((await response).headers.get('connection'), 'close')
  t.match(await ended, { code: 0 })
})

t.test('SHUTDOWN_DELAY_MS keeps serving requests while /readyz is 503', async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir, SHUTDOWN_DELAY_MS: '5000' })
  const { origin } = new URL(service.base)
  const headers = bearer(sharedKey)
  await untilReady(origin)
  const ended = service.stop()
  await service.logged('stopping')
  t.match(await send(`${origin}/readyz`), { status: 503 })
  const response = await send(`${service.base}/pets`, 'POST', headers, { name: 'Rex', categoryId: 1 })
  t.equal(response.status, 201)
  t.equal(response.headers.get('connection'), 'close', 'the next request needs a new connection')
  t.match(await ended, { code: 0 })
  t.match(
    service.log.filter(({ status }) => status === 503),
    [{ route: '/readyz', reason: 'closing' }],
  )
  t.ok(
    service.log.every(({ level }) => Number(level) <= 30),
    'the 503 is not logged as an error',
  )
})

const burst = 1_000
const queueFile = '/proc/sys/net/core/somaxconn'
const queueMax = existsSync(queueFile) ? Number(readFileSync(queueFile)) : 0
const queueIsShort = queueMax < burst && `the kernel queues ${queueMax} connections`

/** Connects so many callers before the service accepts any of them. */
async function connectAtOnce(t: Test, { child, base }: ServiceProcess, count: number): Promise<net.Socket[]> {
  const { hostname, port } = new URL(base)
  child.kill('SIGSTOP')
  const sockets = Array.from({ length: count }, () => net.connect(Number(port), hostname))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const connected = sockets.map((socket) => once(socket, 'connect'))
  await soon(Promise.all(connected), () => `connection of each of ${count}`)
  child.kill('SIGCONT')
  return sockets
}

async function askForHealth(socket: net.Socket): Promise<string | undefined> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const [response] = await once(socket, 'data')
  return String(response).split('\r\n', 1)[0]
}

t.test('a burst of new connections fits in the listen backlog', { skip: queueIsShort }, async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir })
  const responses = (await connectAtOnce(t, service, burst)).map(askForHealth)
  t.strictSame(new Set(await Promise.all(responses)), new Set(['HTTP/1.1 200 OK']))
  t.match(await service.stop(), { code: 0 })
})

const limitIsUnknown = process.platform !== 'linux' && 'only Linux tells a process its limits'
const skipLimit = { skip: limitIsUnknown || queueIsShort }

t.test('callers whom open files have no room for are closed, counted and told of', skipLimit, async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir, METRICS_PORT: '0' }, { filesMax: 256 })
  const beside = `http://127.0.0.1:${(await service.logged('metrics server listening')).port}`
  const messages = service.log.map(({ msg }) => msg).join('\n')
  const [, accepted] = /^CONNECTIONS_MAX .* and (\d+) are accepted: of 256 open files/m.exec(messages) ?? []
  const open = new Set(await connectAtOnce(t, service, burst))
  for (const socket of open)
    socket
      .on('error', () => {})
      .once('close', () => open.delete(socket))
      .resume()
  await until(() => open.size === Number(accepted))
  const figures = await scrape(`${beside}/metrics`)
  t.equal(figures.get('animal_store_connections'), open.size)
  t.equal(figures.get('animal_store_refused_connections_total{reason="connections_max"}'), burst - open.size)
  t.equal(figures.get('process_max_fds'), 256)
  t.ok(Number(figures.get('process_open_fds')) < 256 - 50, 'half of what is kept beside them is free')
  t.match(await service.logged('connections refused: CONNECTIONS_MAX reached'), { level: 40 })
  for (const probe of ['healthz', 'readyz']) t.equal((await send(`${beside}/${probe}`)).status, 200, probe)
  const held = await Promise.all([...open].map(askForHealth))
  t.strictSame(new Set(held), new Set(['HTTP/1.1 200 OK']))
  t.match(await service.stop(), { code: 0 })
})

t.test(
  'a start whose open files have no room for a connection fails',
  { skip: limitIsUnknown },
  async (t) => {
    const started = startProcess(t, { DATA_DIR: sharedDir }, { filesMax: 100 })
    await t.rejects(started, { message: /^startup failed: no file is left .* 100 open files \(ulimit -n\)/ })
  },
)

t.test('a service with a closed standard error serves', async (t) => {
  const env = { DATA_DIR: sharedDir, PORT: '0' }
  const { child, ended } = startProgram(t, 'src/main.ts', [], env)
  child.stderr?.destroy()
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  for await (const line of lines) {
    const { msg } = JSON.parse(line)
    const [origin] = /http:\S+/.exec(msg) ?? []
    if (origin === undefined) continue
    await untilReady(origin)
    child.kill()
  }
  t.match(await ended, { code: 0 })
})

t.test('Ctrl-C during the first startup, once or twice, leaves an empty log behind', async (t) => {
  for (const signals of [['SIGINT'], ['SIGINT', 'SIGTERM']] as const) {
    const dataDir = await temporaryDirectory(t)
    const env = { DATA_DIR: dataDir, PORT: '0' }
    const { child, ended } = startProgram(t, 'src/main.ts', [], env, { detached: true })
    await once(child.stdout as NodeJS.ReadableStream, 'data') // creating the database directory
    for (const signal of signals) signalGroup(child, signal)
    const { code, stderr } = await ended
    // Either of two simultaneous signals may arrive first.
    const [, heard = ''] = /^Interrupted by (SIGINT|SIGTERM)\.\n$/.exec(stderr) ?? []
    t.ok((signals as readonly string[]).includes(heard), stderr)
    t.equal(code, heard === 'SIGTERM' ? 143 : 130)
    const names = await readdir(path.join(dataDir, 'postgresql'))
    t.strictSame(
      names.filter((name) => !name.startsWith('programs-')),
      ['server.log'],
    )
  }
})

t.test('a signal to npm start reaches the service, and leaves nothing running', async (t) => {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, PORT: '0', DATA_DIR: sharedDir, npm_config_update_notifier: 'false' }
  const npm = spawn('npm', ['start'], { cwd: projectRoot, env, detached: true })
  t.teardown(() => isRunning(-(npm.pid ?? 0)) && signalGroup(npm, 'SIGKILL'))
  let output = ''
  npm.stdout.on('data', (chunk) => {
    output += chunk
  })
  for await (const line of createInterface({ input: npm.stderr })) if (line.includes('http://')) break
  npm.kill('SIGTERM')
  t.strictSame(await once(npm, 'exit'), [0, null])
  t.match(output, /"signal":"SIGTERM","msg":"stopping"[\s\S]*"msg":"stopped"/)
  t.notOk(isRunning(-(npm.pid ?? 0)), 'no process of its group')
})

t.test('a signal ends a startup whose database is unresponsive', async (t) => {
  const proxy = await startDatabaseProxy(t, await createDatabase(t))
  const heldBack = proxy.holdBack('perMinute') // the reply with the plans of the keys
  const env = { DATABASE_URL: proxy.url, PORT: '0' }
  const { child, ended } = startProgram(t, 'src/main.ts', [], env)
  await heldBack
  child.kill('SIGTERM')
  t.match(await ended, { code: 143, stderr: /^Interrupted by SIGTERM\.\n$/ })
})

t.test('a signal ends a startup that waits for the database', async (t) => {
  const env = { DATABASE_URL: `postgres://u:p@127.0.0.1:${await freePort()}/d`, PORT: '0' }
  const { child, ended } = startProgram(t, 'src/main.ts', [], env)
  await once(child.stdout as NodeJS.ReadableStream, 'data') // waiting for the database
  child.kill('SIGTERM')
  t.match(await ended, { code: 143, stderr: /^Interrupted by SIGTERM\.\n$/ })
})

for (const [title, env, occupy] of [
  ['during SHUTDOWN_DELAY_MS', { SHUTDOWN_DELAY_MS: '600000' }, async () => {}],
  ['during a request', {}, sendHalf],
] as const) {
  t.test(`a second Ctrl-C forces the shutdown ${title}, and stops the database`, async (t) => {
    const dataDir = dataDirectory(t)
    const service = await startProcess(t, { DATA_DIR: dataDir, ...env }, { detached: true })
    await occupy(t, service)
    signalGroup(service.child, 'SIGINT')
    await service.logged('stopping')
    // Repeats until it no longer counts as npm's duplicate of the first signal.
    const again = setInterval(() => signalGroup(service.child, 'SIGINT'), 50)
    service.child.once('exit', () => clearInterval(again))
    const ended = await service.ended
    t.match(ended, { code: 1, stdout: /forcing shutdown/ })
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
    await t.rejects(
      access(path.join(dataDir, 'postgresql/data/postmaster.pid')),
      'the database server has stopped',
    )
  })
}

// Sends a request without its body, so that the service waits for it.
async function sendHalf(t: Test, service: ServiceProcess): Promise<void> {
  const { hostname, port } = new URL(service.base)
  const socket = net.connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}) // the connection is closed
  const headers = `Host: x\r\nAuthorization: Bearer ${keyOf(service)}\r\nContent-Type: application/json\r\nContent-Length: 9`
  socket.write(`POST ${prefix}/pets HTTP/1.1\r\n${headers}\r\nExpect: 100-continue\r\n\r\n`)
  const [chunk] = await once(socket, 'data')
  t.match(String(chunk), /^HTTP\/1.1 100 /)
}

t.test('SIGUSR1 opens no debugger, and ends no request', async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir })
  service.child.kill('SIGUSR1')
  await service.logged('SIGUSR1 has no effect; SIGUSR2 changes the log level')
  const { code, stderr } = await service.stop()
  t.equal(code, 0)
  t.notMatch(stderr, /debugger/i)
})

t.test('SHUTDOWN_TIMEOUT_MS limits a shutdown', async (t) => {
  const service = await startProcess(t, { DATA_DIR: sharedDir, SHUTDOWN_TIMEOUT_MS: '300' })
  await service.logged(
    'HANDLER_TIMEOUT_MS is 10000: a shutdown ends its requests after SHUTDOWN_TIMEOUT_MS, 300',
  )
  const sql = await joinDatabase(t, sharedDir)
  const held = await holdInserts(sql)
  const response = send(`${service.base}/pets`, 'POST', bearer(sharedKey), { name: 'Rex', categoryId: 1 })
  response.catch(() => {}) // the timeout closes the connection
  await held.someoneWaits()
  t.match(await service.stop(), { code: 1, stdout: /SHUTDOWN_TIMEOUT_MS exceeded.*forcing shutdown/ })
  await t.rejects(response)
  await held.release()
})

t.test('a failed startup reports the cause and exits 1', async (t) => {
  const dataDir = temporaryDirectory(t)
  await writeFile(path.join(dataDir, 'file'), '')
  const closed = await freePort()
  const cases: [string, Record<string, string>, RegExp][] = [
    ['all invalid values at once', { PORT: 'x', LOG_LEVEL: 'y' }, /PORT must be[\s\S]*LOG_LEVEL must be/],
    [
      'a data directory that is a file',
      { DATA_DIR: path.join(dataDir, 'file') },
      /data directory[\s\S]*Set DATA_DIR/,
    ],
    [
      'an unavailable database',
      { DATABASE_URL: `postgres://u:hidden@127.0.0.1:${closed}/d`, START_TIMEOUT_MS: '100' },
      /ECONNREFUSED[\s\S]*DATABASE_URL/,
    ],
  ]
  for (const [title, env, message] of cases) {
    const ended = await runProgram('src/main.ts', [], { PORT: '0', ...env })
    t.match(ended, { code: 1, stderr: message }, title)
    t.notMatch(ended.stderr, /hidden|\n +at /, 'without a password or a stack')
  }
})

t.test('a host name is listened on at its first address only', async (t) => {
  const both = `import dns from 'node:dns'
    const { lookup } = dns
    const addresses = [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }]
    dns.lookup = (host, ...rest) => rest[0].all ? rest[1](null, addresses) : lookup(host, ...rest)`
  const { base } = await startProcess(t, {
    DATA_DIR: sharedDir,
    HOST: 'localhost',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(both)}`,
  })
  const { hostname, port } = new URL(base)
  const socket = net.connect(Number(port), hostname === '127.0.0.1' ? '::1' : '127.0.0.1')
  const [error] = await once(socket, 'error')
  t.match(error, { code: 'ECONNREFUSED' })
})

t.test('a startup that cannot listen creates no database', async (t) => {
  const { port } = new URL((await startProcess(t, { DATA_DIR: sharedDir })).base)
  const free = String(await freePort())
  const cases: [title: string, env: Record<string, string>, message: RegExp][] = [
    ['a port in use', { PORT: port }, /EADDRINUSE[\s\S]*set PORT/],
    ['a metrics port in use', { PORT: '0', METRICS_PORT: port }, /EADDRINUSE[\s\S]*set METRICS_PORT/],
    ['the same port for both', { PORT: free, METRICS_PORT: free }, /EADDRINUSE[\s\S]*set METRICS_PORT/],
    ['an address of another machine', { PORT: '0', HOST: '192.0.2.1' }, /EADDRNOTAVAIL[\s\S]*HOST must be/],
  ]
  for (const [title, env, message] of cases) {
    const dataDir = await temporaryDirectory(t)
    const ended = await runProgram('src/main.ts', [], { DATA_DIR: dataDir, ...env })
    t.match(ended, { code: 1, stdout: '', stderr: message }, title)
    t.strictSame(await readdir(dataDir), [])
  }
})

t.test('instances with REUSE_PORT share a port', { skip: portsAreUnshared }, async (t) => {
  const [port, metricsPort] = [String(await freePort()), String(await freePort())]
  const env = { DATA_DIR: sharedDir, PORT: port, REUSE_PORT: '1' }
  const first = await startProcess(t, { ...env, METRICS_PORT: metricsPort })
  const second = await startProcess(t, env)
  const { origin } = new URL(first.base)
  const ask = () => sendRaw(origin, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const isAsked = ({ log }: ServiceProcess) => log.some(({ route }) => route === '/')
  await until(async () => /^HTTP\/1.1 302 /.test(await ask()) && [first, second].every(isAsked))

  const cases: [title: string, env: Record<string, string>, message: RegExp][] = [
    ['one without it', { REUSE_PORT: '' }, /EADDRINUSE[\s\S]*set PORT[\s\S]*if each has REUSE_PORT=1/],
    ['one whose metrics port is in use', { METRICS_PORT: metricsPort }, /EADDRINUSE[\s\S]*set METRICS_PORT/],
  ]
  for (const [title, others, stderr] of cases)
    t.match(await runProgram('src/main.ts', [], { ...env, ...others }), { code: 1, stderr }, title)

  t.match(await first.stop(), { code: 0 })
  t.match(await ask(), /^HTTP\/1.1 302 /)
})

t.test('a port without REUSE_PORT is shared with no other', { skip: portsAreUnshared }, async (t) => {
  const { port } = new URL((await startProcess(t, { DATA_DIR: sharedDir })).base)
  const ended = await runProgram('src/main.ts', [], { DATA_DIR: sharedDir, PORT: port, REUSE_PORT: '1' })
  t.match(ended, {
    code: 1,
    stderr: /EADDRINUSE[\s\S]*if each has REUSE_PORT=1, and all run as the same user/,
  })
})

t.test('REUSE_PORT is refused where it has no effect', async (t) => {
  const elsewhere = `import net from 'node:net'
    const { listen } = net.Server.prototype
    net.Server.prototype.listen = function (options, ...rest) {
      if (!options.reusePort) return listen.call(this, options, ...rest)
      const error = Object.assign(new Error('listen ENOTSUP'), { code: 'ENOTSUP' })
      process.nextTick(() => this.emit('error', error))
      return this
    }`
  const preloaded = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(elsewhere)}` }
  const cases: [title: string, env: Record<string, string>][] = [['another platform', preloaded]]
  if (portsAreUnshared) cases.push([portsAreUnshared, {}])
  for (const [title, env] of cases) {
    const dataDir = temporaryDirectory(t)
    const shared = { DATA_DIR: dataDir, PORT: '0', REUSE_PORT: '1' }
    const ended = await runProgram('src/main.ts', [], { ...shared, ...env })
    const stderr = /REUSE_PORT has no effect with Node [\s\S]* needs Node 22.12/
    t.match(ended, { code: 1, stdout: '', stderr }, title)
    t.strictSame(await readdir(dataDir), [])
  }
})
