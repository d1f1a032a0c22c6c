import t from 'tap'
import { runProgram, startProcess, temporaryDirectory } from '../fixtures/process.js'
import { send } from '../fixtures/service.js'

const usageErrors: [string, string[], RegExp][] = [
  ['no command', [], /Say create, list/],
  ['an unknown command', ['make'], /Say create, list/],
  ['an unknown option', ['create', '--nmae', 'x'], /nmae/],
  ['no name', ['create', '--plan', 'free'], /--name must have/],
  [
    'an unknown plan',
    ['create', '--name', 'x', '--plan', 'gold'],
    /--plan must be one of free, pro, business, enterprise/,
  ],
  [
    'quotas that the plan fixes',
    ['create', '--name', 'x', '--plan', 'free', '--per-minute', '1'],
    /do not go with/,
  ],
  [
    'quotas that the plan needs',
    ['create', '--name', 'x', '--plan', 'enterprise', '--per-day', '9'],
    /are needed with/,
  ],
  [
    'a quota of nothing',
    ['create', '--name', 'x', '--plan', 'enterprise', '--per-minute', '0', '--per-day', '9'],
    /--per-minute must be/,
  ],
  [
    'an expiry that is past',
    ['create', '--name', 'x', '--plan', 'free', '--expires', '2020-01-01'],
    /in the future/,
  ],
  [
    'an expiry that is no time',
    ['create', '--name', 'x', '--plan', 'free', '--expires', 'soon'],
    /must be a time/,
  ],
  [
    'an expiry on a day that is none',
    ['create', '--name', 'x', '--plan', 'free', '--expires', '2027-02-30'],
    /must be a time/,
  ],
  ['an id that is none', ['revoke', 'x'], /is no ID/],
  ['an id too many', ['revoke', '1', '2'], /Say create/],
]

t.test('a wrong use changes nothing, says what is right and exits 2', async (t) => {
  const dataDir = await temporaryDirectory(t)
  await Promise.all(
    usageErrors.map(async ([title, args, message]) => {
      const ended = await runProgram('src/commands/keys.ts', args, { DATA_DIR: dataDir })
      t.match(ended, { code: 2, stdout: '', stderr: message }, title)
    }),
  )
})

t.test('keys are made, listed and revoked while the service runs', async (t) => {
  const env = { DATA_DIR: await temporaryDirectory(t) }
  const service = await startProcess(t, env)
  const keys = (...args: string[]) => runProgram('src/commands/keys.ts', args, env)
  const call = (key: string) => send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${key}` })

  const made = await keys(
    'create',
    '--name',
    'Big shop',
    '--plan',
    'enterprise',
    '--per-minute',
    '7',
    '--per-day',
    '9',
  )
  t.match(made.stdout, /^ask_[0-9A-Za-z]{36}\n$/, 'standard output is the key alone')
  const key = made.stdout.trim()
  t.equal((await call(key)).status, 200, 'it works at once')
  // Together, before its minute ends.
  const [shown, shownAsJson] = await Promise.all([keys('show', '2'), keys('show', '2', '--json')])
  t.match(shown.stdout, /^ID [\s\S]*\nUsed of this minute {2}1 of 7\nUsed of this day {5}1 of 9\n$/)
  t.match(JSON.parse(shownAsJson.stdout), {
    id: 2,
    name: 'Big shop',
    plan: 'enterprise',
    state: 'valid',
    quotas: { perMinute: 7, perDay: 9 },
    used: { minute: 1, day: 1 },
  })

  const later = new Date(Date.now() + 3_600_000).toISOString()
  t.match(await keys('create', '--name', 'short', '--plan', 'free', '--expires', later), { code: 0 })

  const list = await keys('list')
  t.match(
    list.stdout,
    /^ID +NAME +PLAN +CREATED +EXPIRES +STATE\n1 +demo +free .* valid\n2 +Big shop +enterprise 7\/min 9\/day .* valid\n3 +short +free /,
  )
  t.notMatch(list.stdout, key, 'the list never shows the secret')

  t.match(await keys('show', '98'), { code: 1, stderr: /^There is no key 98\.\n$/ })
  const read = JSON.parse((await keys('list', '--json')).stdout)
  t.match(read, [{ id: 1, plan: 'free', state: 'valid' }, { id: 2 }, { id: 3, expiresAt: later }])
  t.notMatch(JSON.stringify(read), /hash|ask_/, 'nor does it for scripts')

  t.match(await keys('revoke', '2'), { code: 0, stdout: 'Key 2 is revoked.\n' })
  let answer = await call(key)
  while ([200, 429].includes(answer.status)) answer = await call(key)
  t.match(answer, { status: 401, body: { code: 'invalid_api_key' } })
  t.match((await keys('list')).stdout, /Big shop .* revoked 2/)
  const another = JSON.parse((await keys('create', '--name', 'x', '--plan', 'free', '--json')).stdout)
  t.match(another, { id: 4, key: /^ask_[0-9A-Za-z]{36}$/, plan: 'free' })
  t.equal((await call(another.key)).status, 200)
  t.strictSame(JSON.parse((await keys('revoke', '4', '--json')).stdout), { id: 4, state: 'revoked' })
  t.match(await keys('revoke', '99'), { code: 1, stderr: /^There is no key 99\.\n$/ })
  await service.stop()
})

t.test('keys are made when the service does not run', async (t) => {
  const env = { DATA_DIR: await temporaryDirectory(t) }
  t.match(await runProgram('src/commands/keys.ts', ['list'], env), {
    code: 0,
    stdout: 'There are no keys yet.\n',
  })
  const made = await runProgram('src/commands/keys.ts', ['create', '--name', 'early', '--plan', 'free'], env)
  const service = await startProcess(t, env)
  t.notMatch(service.welcome, /ask_/, 'the service makes no demo key where there is one')
  const answer = await send(`${service.base}/pets`, 'GET', { authorization: `Bearer ${made.stdout.trim()}` })
  t.equal(answer.status, 200)
  await service.stop()
})
