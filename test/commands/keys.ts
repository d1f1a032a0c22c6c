import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import os from 'node:os'
import { PassThrough } from 'node:stream'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { startProcess, temporaryDirectory } from 'contract-service/fixtures/process'
import { redisIsMissing, startRedis } from 'contract-service/fixtures/redis'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { readSubcommand } from 'contract-service/internal/commands/keys/subcommands'
import { readOperator } from 'contract-service/internal/commands/operator'
import type { RootSql } from 'contract-service/internal/database/database'
import { contractFile } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { parseDocument } from 'yaml'
import { callCommand } from '../fixtures/command.js'
import { customPlan, fixedPlan } from '../fixtures/facts.js'
import { holdKeys } from '../fixtures/locks.js'
import { contract, createDatabase, send, startService, testConfig } from '../fixtures/service.js'

const operator = os.userInfo().username

const usageErrors: [string, string[], RegExp][] = [
  ['no command', [], /Expected create, list/],
  ['an unknown command', ['make'], /Expected create, list/],
  ['an unknown option', ['create', '--nmae', 'x'], /nmae/],
  ['no name', ['create', '--plan', fixedPlan.name], /--name must have/],
  [
    'a line break',
    ['create', '--name', 'a\nb', '--plan', fixedPlan.name],
    /--name must have .* no line break/,
  ],
  [
    'an unknown plan',
    ['create', '--name', 'x', '--plan', 'gold'],
    new RegExp(`--plan must be one of ${[...contract.rateLimits.plans.keys()].join(', ')}`),
  ],
  [
    'quotas that the plan sets',
    ['create', '--name', 'x', '--plan', fixedPlan.name, '--per-minute', '1'],
    /are not allowed with/,
  ],
  [
    'a missing quota of a custom plan',
    ['create', '--name', 'x', '--plan', customPlan, '--per-day', '9'],
    /are required with/,
  ],
  [
    'a quota of zero',
    ['create', '--name', 'x', '--plan', customPlan, '--per-minute', '0', '--per-day', '9'],
    /--per-minute must be/,
  ],
  [
    'an expiry in the past',
    ['create', '--name', 'x', '--plan', fixedPlan.name, '--expires', '2020-01-01'],
    /in the future/,
  ],
  [
    'an invalid expiry',
    ['create', '--name', 'x', '--plan', fixedPlan.name, '--expires', 'soon'],
    /must be a date or a time/,
  ],
  [
    'an expiry on a day that does not exist',
    ['create', '--name', 'x', '--plan', fixedPlan.name, '--expires', '2027-02-30'],
    /must be a date or a time/,
  ],
  [
    'a scope, of which the contract has none',
    ['create', '--name', 'x', '--plan', fixedPlan.name, '--scope', 'animals:write'],
    /^--scope is not allowed: no operation of the contract demands a scope$/,
  ],
  ['a scope to list', ['list', '--scope', 'x'], /list accepts no option other than --json/],
  ['an invalid id', ['revoke', 'x'], /is not a key ID/],
  ['an id beyond int64', ['revoke', '9223372036854775808'], /is not a key ID/],
  ['an id of 20 digits', ['show', '10000000000000000000'], /is not a key ID/],
  ['a second id', ['revoke', '1', '2'], /Expected create/],
  ['an empty operator', ['revoke', '1', '--by', ''], /--by must have/],
  ['a line break in the operator', ['revoke', '1', '--by', 'a\nb'], /--by must have .* no line break/],
  ['an operator to list', ['list', '--by', 'ada'], /list accepts no option other than --json/],
  ['a name to revoke', ['revoke', '1', '--name', 'x'], /revoke accepts no option other than --by and --json/],
]

for (const [title, args, message] of usageErrors) {
  t.test(`a call with ${title} is rejected with what is expected`, async (t) => {
    t.throws(() => readSubcommand(args, contract), { message })
  })
}

t.test('a key whose quotas are below the cost of an operation is rejected', async (t) => {
  const operations = new Map(
    [...contract.operations].map(([id, each]) => [id, { ...each, extensions: { 'x-rate-cost': 10 } }]),
  )
  const create = (perMinute: string, perDay: string) =>
    readSubcommand(
      ['create', '--name', 'x', '--plan', customPlan, '--per-minute', perMinute, '--per-day', perDay],
      { ...contract, operations },
    )
  t.throws(() => create('9', '10'), { message: /--per-minute must be a whole number from 10 / })
  t.throws(() => create('10', '9'), { message: /--per-day must be a whole number from 10 / })
  t.doesNotThrow(() => create('10', '10'))
})

t.test('wrong usage exits with 2, and creates no database', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const ended = await callCommand('keys', ['revoke', 'x'], { DATA_DIR: dataDir })
  t.match(ended, { code: 2, stdout: '', stderr: /^Usage: [\s\S]*\n\n.*"x" is not a key ID.*\n$/ })
  t.strictSame(await readdir(dataDir), [])
})

// Runs a subcommand, and returns its output on both streams.
async function runBoth(args: readonly string[], sql: RootSql, env = {}, read = contract) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const patience = { timeoutMs: 0 }
  await readSubcommand(args, read)(sql, { stdout, stderr, config: testConfig(env), patience })
  return { stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

async function run(...call: Parameters<typeof runBoth>): Promise<string> {
  return (await runBoth(...call)).stdout
}

t.test('keys are created, listed and revoked while the service runs', async (t) => {
  const service = await startService(t)
  const { sql } = service
  const keys = (...args: string[]) => run(args, sql)
  const call = (key: string) => send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })

  const big = ['--name', 'Big shop', '--plan', customPlan, '--per-minute', '7', '--per-day', '9']
  const made = await keys('create', ...big)
  t.match(made, /^ask_[0-9A-Za-z]{36}\n$/, 'the output is the key alone')
  const key = made.trim()
  t.equal((await call(key)).status, 200, 'it is valid at once')
  t.match(
    await keys('show', '2'),
    /^ID [\s\S]*\nPer minute {2}7, used: unknown: without REDIS_URL .*\nPer day {5}9, used: /,
  )
  t.match(JSON.parse(await keys('show', '2', '--json')), {
    id: 2,
    name: 'Big shop',
    plan: customPlan,
    state: 'valid',
    quotas: { perMinute: 7, perDay: 9 },
    used: null,
  })

  const later = new Date(Date.now() + 3_600_000).toISOString()
  await keys('create', '--name', 'short', '--plan', fixedPlan.name, '--expires', later)
  const list = await keys('list')
  t.match(
    list,
    new RegExp(
      `^ID +NAME +PLAN +CREATED +EXPIRES +STATE\n1 +test .* valid\n2 +Big shop +${customPlan} 7/min 9/day .* valid\n3 +short +${fixedPlan.name} `,
    ),
  )
  t.notMatch(list, key, 'the list never shows the secret')

  await t.rejects(keys('show', '98'), { message: 'There is no key 98.' })
  const read = JSON.parse(await keys('list', '--json'))
  t.match(read, [{ id: 1, state: 'valid' }, { id: 2 }, { id: 3, expiresAt: later }])
  t.notMatch(JSON.stringify(read), /hash|ask_/, 'nor does the JSON')

  t.equal(await keys('revoke', '2'), 'Key 2 is revoked.\n')
  let answer = await call(key)
  while ([200, 429].includes(answer.status)) answer = await call(key)
  t.match(answer, { status: 401, body: { code: 'invalid_api_key' } })
  t.match(await keys('list'), new RegExp(`Big shop .* revoked 2\\S+ by ${operator}\n`))
  const another = JSON.parse(await keys('create', '--name', 'x', '--plan', fixedPlan.name, '--json'))
  t.match(another, { id: 4, key: /^ask_[0-9A-Za-z]{36}$/, plan: fixedPlan.name })
  t.equal((await call(another.key)).status, 200)
  t.match(JSON.parse(await keys('revoke', '4', '--json')), { id: 4, state: 'revoked', revokedBy: operator })
  await t.rejects(keys('revoke', '99'), { message: 'There is no key 99.' })
})

t.test('keys tell who created and who revoked them', async (t) => {
  const sql = await createDatabase(t)
  const keys = (...args: string[]) => runBoth(args, sql)
  const create = (...args: string[]) => keys('create', '--name', 'x', '--plan', fixedPlan.name, ...args)

  await create('--by', 'Ada L.')
  t.equal((await keys('revoke', '1', '--by', 'Ben')).stdout, 'Key 1 is revoked.\n')
  t.match(await keys('revoke', '1', '--by', 'Eve'), {
    stdout: /^Key 1 was already revoked: 2\S+Z by Ben\.\n$/,
    stderr: '',
  })
  t.match((await keys('list')).stdout, /^ID .*\n1 .* 2\S+Z by Ada L\. .* revoked 2\S+Z by Ben\n$/)

  t.test('and with --json the log tells each change', async (t) => {
    const made = await create('--by', 'Ada', '--json')
    const { key } = JSON.parse(made.stdout)
    t.match(JSON.parse(made.stderr), {
      msg: 'key created',
      key: 2,
      name: 'x',
      createdBy: 'Ada',
      time: Number,
    })
    t.notMatch(made.stderr, key, 'without its secret')
    const revoked = await keys('revoke', '2', '--json')
    t.match(JSON.parse(revoked.stderr), { msg: 'key revoked', key: 2, revokedBy: operator, time: Number })
    const again = await keys('revoke', '2', '--json', '--by', 'Eve')
    t.strictSame(again, { stdout: revoked.stdout, stderr: '' }, 'a second time changes nothing')
    const list = JSON.parse((await keys('list', '--json')).stdout)
    t.match(list[1], { createdBy: 'Ada', revokedBy: operator, state: 'revoked' })
  })
})

t.test('keys have the scopes of the contract', async (t) => {
  const sql = await createDatabase(t)
  const document = parseDocument(readFileSync(contractFile, 'utf8'))
  const security = [{ apiKey: ['animals:write'] }, { apiKey: ['animals:admin'] }]
  document.setIn(['paths', '/pets', 'post', 'security'], document.createNode(security))
  const demanding = await readServiceContract(contractFile, async () => String(document))
  const keys = (...args: string[]) => run(args, sql, {}, demanding)
  const create = (...args: string[]) => keys('create', '--name', 'x', '--plan', fixedPlan.name, ...args)

  await create()
  t.notMatch(await keys('list'), 'SCOPES', 'no column without a scope')
  const made = await create('--scope', 'animals:write', '--scope', 'animals:admin', '--json')
  t.strictSame(JSON.parse(made).scopes, ['animals:write', 'animals:admin'])
  await create('--scope', 'animals:admin', '--scope', 'animals:admin')
  const columns = ['animals:write animals:admin', 'animals:admin'].map((scopes) => scopes.padEnd(27))
  t.match(
    await keys('list'),
    new RegExp(
      `^ID +NAME +PLAN +SCOPES +CREATED [\\s\\S]*\n1 .* ${fixedPlan.name} +- +2\\S+Z [\\s\\S]*` +
        columns.map((text, i) => `\n${i + 2} .* ${text}  2\\S+Z .*`).join(''),
    ),
  )
  t.match(await keys('show', '2'), /SCOPES[\s\S]* animals:write animals:admin /)
  t.match(JSON.parse(await keys('list', '--json')), [
    { id: 1, scopes: [] },
    { id: 2, scopes: ['animals:write', 'animals:admin'] },
    { id: 3, scopes: ['animals:admin'] },
  ])

  for (const unknown of ['animals:delete', 'Animals:write', 'animals:write animals:admin', ''])
    await t.rejects(create('--scope', 'animals:write', '--scope', unknown), {
      name: 'UsageError',
      message: '--scope must be one of animals:admin, animals:write',
    })
  t.equal(JSON.parse(await keys('list', '--json')).length, 3, 'a key with an unknown scope is not created')
})

t.test('an operator without an entry in /etc/passwd is a number', async (t) => {
  const withoutEntry = () => {
    throw new Error('ENOENT')
  }
  t.equal(readOperator(undefined, withoutEntry), `uid ${process.getuid?.()}`)
})

t.test('a key may have the largest id', async (t) => {
  const sql = await createDatabase(t)
  await sql`alter table api_keys alter column id restart with 9223372036854775807`
  await run(['create', '--name', 'last', '--plan', fixedPlan.name], sql)
  t.match(await run(['show', '9223372036854775807'], sql), /\n9223372036854775807 +last /)
  t.match(await run(['revoke', '9223372036854775807', '--json'], sql), '"id": 9223372036854775807')
})

t.test('keys behind a lock name its holder, and create and revoke nothing', async (t) => {
  const sql = await createDatabase(t)
  await run(['create', '--name', 'x', '--plan', fixedPlan.name], sql)
  const held = await holdKeys(sql)
  const all = [['list'], ['show', '1'], ['revoke', '1'], ['create', '--name', 'y', '--plan', fixedPlan.name]]
  for (const args of all)
    await t.rejects(run(args, sql), {
      name: 'OperatorError',
      message: /^A lock was not released .*: process \d+ \(.*\) holds AccessExclusiveLock on api_keys$/,
    })
  await held.release()
  t.match(JSON.parse(await run(['list', '--json'], sql)), [{ id: 1, state: 'valid' }])
})

t.test(
  'show includes the usage of a key if instances count in Redis',
  { skip: redisIsMissing },
  async (t) => {
    const redis = await startRedis(t)
    const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '3000' }
    const service = await startService(t, { env })
    const keys = (...args: string[]) => run(args, service.sql, env)
    const { id, key } = await service.createKey({ plan: customPlan, perMinute: 7, perDay: 9 })
    t.match(await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` }), { status: 200 })
    t.match(JSON.parse(await keys('show', String(id), '--json')), { used: { minute: 1, day: 1 } })
    t.match(await keys('show', String(id)), /\nPer minute {2}7, used: 1\nPer day {5}9, used: 1\n$/)
    await redis.kill()
    await t.rejects(keys('show', String(id)), { message: 'Redis does not answer at REDIS_URL.' })
  },
)

t.test('keys are created while the service does not run', async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  t.match(await callCommand('keys', ['list'], env), {
    code: 0,
    stdout: 'There are no keys yet.\n',
  })
  const made = await callCommand('keys', ['create', '--name', 'early', '--plan', fixedPlan.name], env)
  const service = await startProcess(t, env)
  t.notMatch(service.welcome, /ask_/, 'the service creates no demo key if there are keys')
  const answer = await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${made.stdout.trim()}` })
  t.equal(answer.status, 200)
  await service.stop()
})
