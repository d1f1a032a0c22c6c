import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { signalGroup, startProgram, temporaryDirectory } from 'contract-service/fixtures/process'
import { redisIsMissing } from 'contract-service/fixtures/redis'
import { sampled } from 'contract-testing/nightly'
import { until } from 'contract-testing/until'
import t from 'tap'

const linuxOnly = process.platform !== 'linux' && 'reads /proc'

const folders = async (folder: string) => (await readdir(folder)).filter((name) => !name.startsWith('tsx-'))

const signals: [scenario: string, isReady: (folder: string) => Promise<boolean>, to: 'group' | 'process'][] =
  [
    ['freeze', isFrozen, 'group'],
    ['freeze', isFrozen, 'process'],
    ['kill', async (folder) => (await postgresPid(folder)) !== undefined, 'process'],
    ['redis', async (folder) => (await folders(folder)).length > 1, 'process'],
  ]

for (const [scenario, isReady, to] of sampled(signals)) {
  const skip = linuxOnly || (scenario === 'redis' && redisIsMissing)
  t.test(
    `interrupted faults leave nothing running: ${scenario}, signal to the ${to}`,
    { skip },
    async (t) => {
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

// Omits zombies (Z in proc(5)), and tsx's esbuild process, which exits by itself a moment later.
async function processes(): Promise<{ stat: string; group: number }[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.flatMap((stat) => {
    const [, name, state, , group] = /\((.*)\) (\S) (\d+) (\d+)/.exec(stat) ?? []
    return state === undefined || state === 'Z' || name === 'esbuild' ? [] : { stat, group: Number(group) }
  })
}

// True if PostgreSQL is stopped (T in proc(5)).
async function isFrozen(folder: string): Promise<boolean> {
  const pid = await postgresPid(folder)
  return /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
}
