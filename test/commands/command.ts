import { openSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { dataDirectory } from '../fixtures/data-directory.js'
import { ampleTerms } from '../fixtures/facts.js'
import { runProgram, signalGroup, startProgram, temporaryDirectory } from '../fixtures/process.js'
import { redisIsMissing } from '../fixtures/redis.js'
import { contract } from '../fixtures/service.js'
import { until } from '../fixtures/until.js'

const commands = ['src/commands/keys', 'src/commands/seed', 'src/commands/migrate']
const tools = ['generate', 'dev', 'fuzz', 'faults', 'bench'].map((name) => `scripts/${name}/main`)
const usage = /^Usage: [\s\S]*\nExamples:\n {2}[\s\S]*\nExit codes: 0 /
const linuxOnly = process.platform !== 'linux' && 'it is read off Linux'

t.test('help tells of a command by example, and of the exit codes', async (t) => {
  const ended = await runProgram('src/commands/keys.ts', ['--help'], {})
  t.match(ended, { code: 0, stderr: '', stdout: usage })
  for (const plan of contract.rateLimits.plans.keys())
    t.match(ended.stdout, `\n                    ${plan}: `)
})

t.test('what a command does not know it refuses, with its help, before it does anything', async (t) => {
  for (const name of [...commands, ...tools]) {
    const ended = await runProgram(`${name}.ts`, ['--nonsense'], {})
    t.match(ended, { code: 2, stdout: '', stderr: usage }, name)
    t.match(ended.stderr, /\n\n.*--nonsense.*\n$/, 'with what is wrong at the end')
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
  }
})

t.test('a command tells of a variable that is misspelt, for it works elsewhere than is meant', async (t) => {
  const env = { DATA_DIR: dataDirectory(t), DATABSE_URL: 'postgres://owner@db.example/store' }
  const told = 'DATABSE_URL is not read: is DATABASE_URL meant?\n'
  t.match(await runProgram('src/commands/keys.ts', ['list'], env), { code: 0, stderr: told })
  const seed = await runProgram('src/commands/seed.ts', ['--count', '1', '--append'], env)
  t.equal(seed.code, 0)
  t.ok(seed.stderr.startsWith(told), seed.stderr)
})

t.test('a reader who goes away ends a command quietly', async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  for (const [command, ...args] of [
    ['src/commands/keys.ts', 'list'],
    ['src/commands/seed.ts', '--count', '1', '--append'],
    ['src/commands/migrate.ts', '--help'],
    ['scripts/generate/main.ts', '--help'],
    ['scripts/diff/main.ts', '--help'],
  ] as const) {
    const { child, ended } = startProgram(t, command, args, env)
    child.stdout?.destroy()
    const { code, stderr } = await ended
    t.equal(code, 0, command)
    t.notMatch(stderr, /EPIPE|\n +at /)
  }
  const { child, ended } = startProgram(t, 'src/commands/seed.ts', ['--count', '1', '--append'], env)
  child.stderr?.destroy()
  t.match(await ended, { code: 0, stdout: /1 animals added/ }, 'nor does it need one of what went on')
})

t.test('what cannot be written is said', { skip: linuxOnly }, async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  for (const args of [['list'], ['create', '--name', 'x', ...ampleTerms]]) {
    const stdout = openSync('/dev/full', 'w')
    const ended = await runProgram('src/commands/keys.ts', args, env, { stdout })
    t.match(ended, { code: 1, stderr: /^(Key .*\n)?Standard output cannot be written: ENOSPC.*\n$/ })
  }
  const left = await runProgram('src/commands/keys.ts', ['list'], env)
  t.match(left, { code: 0, stdout: 'There are no keys yet.' }, 'and no key is made that nobody saw')
})

t.test('Ctrl-C ends a command that makes the database, and leaves nothing behind', async (t) => {
  for (const [command, ...args] of [
    ['src/commands/keys.ts', 'list'],
    ['src/commands/seed.ts', '--count', '1'],
  ] as const) {
    const dataDir = await temporaryDirectory(t)
    const { child, ended } = startProgram(t, command, args, { DATA_DIR: dataDir }, { detached: true })
    const drafts = async () => {
      const names = await readdir(path.join(dataDir, 'postgresql')).catch(() => [])
      return names.filter((name) => !name.startsWith('programs-'))
    }
    await until(async () => (await drafts()).length > 0)
    signalGroup(child, 'SIGINT')
    t.match(await ended, { code: 130, stdout: '', stderr: 'Interrupted by SIGINT.\n' }, command)
    t.strictSame(await drafts(), [])
  }
})

const folders = async (folder: string) => (await readdir(folder)).filter((name) => !name.startsWith('tsx-'))

const signals: [scenario: string, isReady: (folder: string) => Promise<boolean>, to: 'group' | 'process'][] =
  [
    ['freeze', isFrozen, 'group'],
    ['freeze', isFrozen, 'process'],
    ['kill', async (folder) => (await postgresPid(folder)) !== undefined, 'process'],
    ['redis', async (folder) => (await folders(folder)).length > 1, 'process'],
  ]

for (const [scenario, isReady, to] of signals) {
  const skip = linuxOnly || (scenario === 'redis' && redisIsMissing)
  t.test(`faults that are interrupted leave nothing running: ${scenario}, the ${to}`, { skip }, async (t) => {
    const folder = await temporaryDirectory(t)
    const program = 'test/fixtures/faults-program.ts'
    const { child, ended } = startProgram(t, program, [scenario], { TMPDIR: folder }, { detached: true })
    await until(() => isReady(folder))
    const pid = await postgresPid(folder)
    if (to === 'group') signalGroup(child, 'SIGINT')
    else child.kill('SIGINT')
    t.match(await ended, { code: 130, stderr: 'Interrupted by SIGINT.\n' })
    t.strictSame(await folders(folder), [], 'no folder')
    const left = (await processes()).filter(
      ({ stat, group }) => group === child.pid || stat.startsWith(`${pid} `),
    )
    t.strictSame(
      left.map(({ stat }) => stat),
      [],
      'no process',
    )
  })
}

async function postgresPid(folder: string): Promise<string | undefined> {
  for (const name of await folders(folder)) {
    const file = path.join(folder, name, 'postgresql/data/postmaster.pid')
    const [pid] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    if (pid) return pid
  }
  return undefined
}

// proc(5): Z has ended. The compiler that tsx starts ends by itself, a moment after.
async function processes(): Promise<{ stat: string; group: number }[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.flatMap((stat) => {
    const [, name, state, , group] = /\((.*)\) (\S) (\d+) (\d+)/.exec(stat) ?? []
    return state === undefined || state === 'Z' || name === 'esbuild' ? [] : { stat, group: Number(group) }
  })
}

// T is stopped.
async function isFrozen(folder: string): Promise<boolean> {
  const pid = await postgresPid(folder)
  return /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
}
