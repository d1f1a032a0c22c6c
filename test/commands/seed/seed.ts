import { once } from 'node:events'
import { silent } from 'contract-service/fixtures/cluster'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { startProcess, startProgram, temporaryDirectory } from 'contract-service/fixtures/process'
import { startEmbedded } from 'contract-service/internal/database/embedded/embedded-server'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { callCommand, startCommand } from '../../fixtures/command.js'
import { ampleTerms, pageMax } from '../../fixtures/facts.js'
import { holdInserts, holdPets } from '../../fixtures/locks.js'
import { send } from '../../fixtures/service.js'

const usageErrors: [string, string[], RegExp][] = [
  ['no count', [], /--count N is required/],
  ['a count of zero', ['--count', '0'], /--count must be a whole number from 1/],
  ['a count that is not an integer', ['--count', '1e6'], /--count must be/],
  ['a count out of range', ['--count', '100000001'], /--count must be/],
  ['a seed out of range', ['--count', '1', '--seed', '4294967296'], /--seed must be/],
  ['an unknown option', ['--count', '1', '--force'], /--force/],
  ['an extra argument', ['--count', '1', '2'], /positional/],
]

t.test('wrong usage changes nothing, prints the usage and exits with 2', async (t) => {
  const env = { DATA_DIR: await temporaryDirectory(t) }
  await Promise.all(
    usageErrors.map(async ([title, args, message]) => {
      const ended = await callCommand('seed', args, env)
      t.match(ended, { code: 2, stdout: '', stderr: message }, title)
      t.match(ended.stderr, /Examples:/)
    }),
  )
})

// Opens the embedded database of the programs, and keeps it running between them.
async function openDatabase(t: Test) {
  const dataDir = dataDirectory(t)
  const env = { DATA_DIR: dataDir }
  const made = await callCommand('keys', ['create', '--name', 'x', ...ampleTerms], env)
  const server = await startEmbedded(dataDir, silent)
  const sql = postgres({ ...server.connection, max: 2, fetch_types: false, onnotice: () => {} })
  t.teardown(async () => {
    await sql.end({ timeout: 1 })
    await server.stop()
  })
  const count = async () => (await sql`select count(*)::int as count from pets`)[0]?.count
  const seed = (...args: string[]) => callCommand('seed', args, env)
  return { env, sql, count, seed, authorization: `Bearer ${made.stdout.trim()}` }
}

t.test('a running service returns the animals as soon as they are added', async (t) => {
  const { env, count, seed, authorization } = await openDatabase(t)
  const service = await startProcess(t, env)
  t.match(await seed('--count', '2500'), { code: 0, stdout: /^2,500 animals added in [\d.]+ s\.\n$/ })
  let next: string | undefined = `${service.base}/pets?limit=${pageMax}`
  let seen = 0
  while (next !== undefined) {
    // The service validates each response against the contract, and sends 500 if one is invalid.
    const page = await send(next, 'GET', { authorization })
    t.equal(page.status, 200)
    seen += page.body.length
    const [, target] = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '') ?? []
    next = target && new URL(target, next).href
  }
  t.equal(seen, 2_500)

  t.test('a store with animals is left unchanged without --append', async (t) => {
    t.match(await seed('--count', '10'), {
      code: 1,
      stdout: '',
      stderr: /The store already contains animals\. Use --append/,
    })
    t.equal(await count(), 2_500)
    const ended = await seed('--count', '10', '--append', '--json')
    t.match(ended, { code: 0, stderr: /^100 % {2}10 animals/ })
    t.match(JSON.parse(ended.stdout), { added: 10, seconds: Number })
    t.equal(await count(), 2_510)
  })
  await service.stop()
})

t.test('the same seed gives the same animals, also without a service', async (t) => {
  const { sql, seed } = await openDatabase(t)
  const read = async () => [...(await sql`select name, category_id, status from pets order by id`)]
  await seed('--count', '50', '--seed', '9')
  const first = await read()
  await sql`truncate pets`
  await seed('--count', '50', '--seed', '9')
  t.strictSame(await read(), first)
})

for (const [title, size] of [
  ['at once', 5],
  ['half-way', 50_000],
] as const) {
  t.test(`an error of the database ${title} is reported, and nothing is added`, async (t) => {
    const { sql, count, seed } = await openDatabase(t)
    await sql.unsafe(`alter table pets alter column id restart with ${2n ** 63n - BigInt(size) / 2n}`)
    const ended = await seed('--count', String(size))
    t.match(ended, { code: 1, stdout: '', stderr: /Nothing was added\. The database reports: nextval/ })
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
    t.equal(await count(), 0)
  })
}

t.test('a locked table is reported with the session that locks it, and nothing is added', async (t) => {
  const { env, sql, count } = await openDatabase(t)
  for (const hold of [holdPets, holdInserts]) {
    const holder = await hold(sql)
    const run = (START_TIMEOUT_MS: string) =>
      startCommand('seed', ['--count', '5'], { ...env, START_TIMEOUT_MS })
    const reason =
      /"waiting for a lock .*\nA lock was not released .* process \d+ \(postgres\.js, .* on pets\n$/
    t.match(await run('2000').ended, { code: 1, stdout: '', stderr: reason })

    const interrupted = run('600000')
    await once(interrupted.stderr, 'data')
    interrupted.interrupt()
    t.match(await interrupted.ended, { code: 130, stderr: /Interrupted: nothing was added\.\n$/ })
    await holder.release()
  }
  t.equal(await count(), 0)
})

// Makes animals after the first tenth wait for a lock that the test holds.
async function holdHalf(t: Test) {
  const { env, sql, count } = await openDatabase(t)
  await sql.unsafe(`
    create function wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on pets for each row when (new.id > 15000) execute function wait()`)
  const session = await sql.reserve()
  await session`select pg_advisory_lock(1)`
  session.release()
  return { env, args: ['--count', '100000'], sql, count }
}

t.test('a crash of the database half-way is reported in one sentence', async (t) => {
  const { env, args, sql } = await holdHalf(t)
  const { child, ended } = startProgram(t, 'src/commands/seed/seed.ts', args, env)
  await once(child.stderr as NodeJS.ReadableStream, 'data')
  const [row] = await sql`select pid from pg_stat_activity where backend_type = 'walwriter'`
  process.kill(row?.pid, 'SIGKILL')
  const { code, stdout, stderr } = await ended
  t.match({ code, stdout }, { code: 1, stdout: /^$/ })
  t.match(stderr, /The connection to the database was lost: either all animals were added, or none\.\n$/)
  t.notMatch(stderr, /\n +at /, 'without a stack')
})

t.test('an interrupted seed adds nothing', async (t) => {
  const { env, args, sql, count } = await holdHalf(t)
  const { stderr, interrupt, ended } = startCommand('seed', args, env)
  await once(stderr, 'data')
  interrupt()
  await sql`select pg_advisory_unlock_all()`
  t.match(await ended, { code: 130, stdout: '', stderr: /Interrupted: nothing was added\.\n$/ })
  t.equal(await count(), 0)
})
