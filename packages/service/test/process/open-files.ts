import t from 'tap'
import { readConfig } from '../../src/config.js'
import { fitConnections, openFilesMax, otherFiles } from '../../src/process/open-files.js'

/** Returns the CONNECTIONS_MAX that a limit of open files allows, and the warnings. */
function fit(env: Record<string, string>, filesMax: number) {
  const warnings: unknown[] = []
  const warn = (text: unknown) => void warnings.push(text)
  const { connectionsMax } = fitConnections(readConfig(env), { warn }, filesMax)
  return { connectionsMax, warnings }
}

const unlimited = Number.POSITIVE_INFINITY
const fitting = 10_000 + 11 + otherFiles
const cases: [title: string, env: Record<string, string>, filesMax: number, connections: number][] = [
  ['all where there is no limit', {}, unlimited, 10_000],
  ['all where the limit has room for them', {}, fitting, 10_000],
  ['one less where one file is missing', {}, fitting - 1, 9_999],
  ['what a limit of 256 leaves', {}, 256, 256 - 11 - otherFiles],
  ['fewer beside larger pools', { DATABASE_CONNECTIONS: '100' }, 256, 256 - 100 - otherFiles],
  ['no more than CONNECTIONS_MAX', { CONNECTIONS_MAX: '5' }, 256, 5],
  ['one where there is room for one', {}, 1 + 11 + otherFiles, 1],
]

for (const [title, env, filesMax, connectionsMax] of cases)
  t.test(`connections are accepted: ${title}`, async (t) => {
    const fitted = fit(env, filesMax)
    const asked = Number(env.CONNECTIONS_MAX ?? 10_000)
    t.equal(fitted.connectionsMax, connectionsMax)
    t.equal(fitted.warnings.length, connectionsMax < asked ? 1 : 0)
    const figures = [asked, connectionsMax, filesMax, Number(env.DATABASE_CONNECTIONS ?? 11), otherFiles]
    for (const [warning] of [fitted.warnings].filter(({ length }) => length > 0)) {
      t.match(warning, /CONNECTIONS_MAX.*ulimit -n.*DATABASE_CONNECTIONS/)
      t.strictSame(String(warning).match(/\d+/g), figures.map(String))
    }
  })

t.test('a limit without room for a connection stops the start', async (t) => {
  t.throws(() => fit({}, 11 + otherFiles), {
    name: 'OperatorError',
    message: /ulimit -n.*DATABASE_CONNECTIONS/,
  })
})

t.test('the limit of this process is known on Linux', async (t) => {
  t.ok(openFilesMax() > 0)
  const { userLimits } = process.report.getReport() as { userLimits?: Record<string, { soft: unknown }> }
  const soft = userLimits?.open_files?.soft
  t.equal(
    openFilesMax(),
    process.platform === 'linux' && soft !== 'unlimited' ? soft : Number.POSITIVE_INFINITY,
  )
})
