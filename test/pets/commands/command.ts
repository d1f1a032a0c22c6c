import { openSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { dataDirectory } from '../../fixtures/data-directory.js'
import { runProgram, signalGroup, startProgram, temporaryDirectory } from '../../fixtures/process.js'
import { redisIsMissing } from '../../fixtures/redis.js'
import { contract } from '../../fixtures/service.js'
import { until } from '../../fixtures/until.js'
import { ampleTerms } from '../fixtures/facts.js'

const commands = ['src/commands/keys', 'src/commands/seed/seed', 'src/commands/migrate']
const tools = ['generate', 'dev', 'fuzz', 'faults', 'bench'].map((name) => `scripts/${name}/main`)
const usage = /^Usage: [\s\S]*\nExamples:\n {2}[\s\S]*\nExit codes: 0 /
const linuxOnly = process.platform !== 'linux' && 'reads /proc'

t.test('--help prints examples and exit codes', async (t) => {
  const ended = await runProgram('src/commands/keys.ts', ['--help'], {})
  t.match(ended, { code: 0, stderr: '', stdout: usage })
  for (const plan of contract.rateLimits.plans.keys())
    t.match(ended.stdout, `\n                    ${plan}: `)
})

t.test('unknown options are rejected with the usage before anything is done', async (t) => {
  for (const name of [...commands, ...tools]) {
    const ended = await runProgram(`${name}.ts`, ['--nonsense'], {})
    t.match(ended, { code: 2, stdout: '', stderr: usage }, name)
    t.match(ended.stderr, /\n\n.*--nonsense.*\n$/, 'with the message at the end')
    t.notMatch(ended.stderr, /\n +at /, 'without a stack')
  }
})

t.test('a command refuses a misspelt variable, without which it would do something else', async (t) => {
  const DATABASE_URL = 'postgres://owner@127.0.0.1:1/store'
  for (const [name, misspelt, env, ...args] of [
    ['keys', 'DATABSE_URL', {}, 'list'],
    ['seed/seed', 'DATABSE_URL', {}, '--count', '1'],
    ['migrate', 'SERVICE_DATABSE_URL', { DATABASE_URL }],
  ] as const) {
    const ended = await runProgram(`src/commands/${name}.ts`, args, { ...env, [misspelt]: DATABASE_URL })
    const stderr = `${misspelt} is unknown: did you mean ${misspelt.replace('ABS', 'ABAS')}?\n`
    t.match(ended, { code: 1, stdout: '', stderr }, name)
  }
})

t.test('a command whose output is closed exits quietly', async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  for (const [command, ...args] of [
    ['src/commands/keys.ts', 'list'],
    ['src/commands/seed/seed.ts', '--count', '1', '--append'],
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
  const { child, ended } = startProgram(t, 'src/commands/seed/seed.ts', ['--count', '1', '--append'], env)
  child.stderr?.destroy()
  t.match(await ended, { code: 0, stdout: /1 animals added/ }, 'also with standard error closed')
})

t.test('a command reports that standard output cannot be written', { skip: linuxOnly }, async (t) => {
  const env = { DATA_DIR: dataDirectory(t) }
  for (const args of [['list'], ['create', '--name', 'x', ...ampleTerms]]) {
    const stdout = openSync('/dev/full', 'w')
    const ended = await runProgram('src/commands/keys.ts', args, env, { stdout })
    t.match(ended, { code: 1, stderr: /^(Key .*\n)?Cannot write to standard output: ENOSPC.*\n$/ })
  }
  const left = await runProgram('src/commands/keys.ts', ['list'], env)
  t.match(left, { code: 0, stdout: 'There are no keys yet.' }, 'no key is stored that was not printed')
})

t.test('Ctrl-C while the database is created leaves nothing behind', async (t) => {
  for (const [command, ...args] of [
    ['src/commands/keys.ts', 'list'],
    ['src/commands/seed/seed.ts', '--count', '1'],
  ] as const) {
    const dataDir = await temporaryDirectory(t)
    const { child, ended } = startProgram(t, command, args, { DATA_DIR: dataDir }, { detached: true })
    const drafts = async () => {
      const names = await readdir(path.join(dataDir, 'postgresql')).catch(() => [])
      return names.filter((name) => name !== 'server.log' && !name.startsWith('programs-'))
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
  t.test(
    `interrupted faults leave nothing running: ${scenario}, signal to the ${to}`,
    { skip },
    async (t) => {
      const folder = await temporaryDirectory(t)
      const program = 'test/pets/fixtures/faults-program.ts'
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
    },
  )
}

async function postgresPid(folder: string): Promise<string | undefined> {
  for (const name of await folders(folder)) {
    const file = path.join(folder, name, 'postgresql/data/postmaster.pid')
    const [pid] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    if (pid) return pid
  }
  return undefined
}

// proc(5): Z is a zombie. tsx's esbuild process exits by itself a moment later.
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
