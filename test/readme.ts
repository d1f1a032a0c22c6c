// Runs the blocks of README.md and of each page of docs/ in order, and compares their output with that shown.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { startProcess } from 'contract-service/fixtures/process'
import t, { type Test } from 'tap'
import { copyCheckout } from './fixtures/copy.js'
import { type Block, blocksOf, pages, readPage } from './fixtures/pages.js'
import { startRegistry } from './fixtures/registry.js'
import { openShell } from './fixtures/shell.js'

// The addresses of the service and of its metrics in the pages.
const shownOrigin = '127.0.0.1:3000'
const shownMetrics = '127.0.0.1:9464'

// The page with the sample of the TypeScript client, which a reader may paste twice.
const clientPage = 'docs/using-the-api.md'

t.jobs = 2

for (const page of pages) {
  const blocks = blocksOf(readPage(page))
  if (blocks.every(({ notRun }) => notRun !== undefined)) continue

  t.test(`${page} shows the output of its blocks`, async (t) => {
    const scratch = temporaryDirectory(t)
    const project = copyProject(scratch)
    const { hide, reveal } = await startFor(t, project, blocks)
    const npm = { npm_config_registry: await startRegistry(t), npm_config_update_notifier: 'false' }
    const shell = openShell(t, { cwd: project, scratch, env: { ...environment(scratch), ...npm } })
    for (const { line, text, shown, notRun } of blocks) {
      if (notRun !== undefined) {
        t.comment(`${page}:${line} is not run: ${notRun}`)
        continue
      }
      const printed = asSeen(hide(await shell.run(reveal(text))))
      if (patternOf(shown).test(printed)) t.pass(`${page}:${line}`)
      else t.equal(printed, asSeen(shown), `${page}:${line}`)
    }
    if (page === clientPage) {
      const [again] = blocks.filter((block) => block.text.includes('createClient'))
      const printed = await shell.run(reveal(again?.text ?? ''))
      t.match(printed, /\npet_not_found\n$/, 'the client can be pasted twice')
    }
    if (page !== 'README.md') return
    const made = await shell.run('git status --porcelain --ignored')
    const builds = ['client', 'diff', 'engine', 'service', 'testing'].map(
      (name) => `!! packages/${name}/dist/`,
    )
    const expected = ['!! .data/', '!! dist/', '!! node_modules', ...builds] // npm start makes them
    t.strictSame(made.trim().split('\n'), expected, 'nothing else is new in the checkout')
  })
}

t.test('a block in an unknown language, or output without a command, is rejected', async (t) => {
  const fenced = (language: string) => `\`\`\`${language}\necho 1\n\`\`\`\n`
  t.match(blocksOf(`${fenced('sh')}${fenced('')}${fenced('text')}`), [
    { text: 'echo 1\n', shown: 'echo 1\n' },
  ])
  t.match(blocksOf(`<!-- not run: it needs Docker -->\n${fenced('sh')}`), [{ notRun: 'it needs Docker' }])
  t.throws(() => blocksOf(fenced('python')), /line 1: cannot run "python"/)
  t.throws(() => blocksOf(`${fenced('sh')}It says:\n${fenced('')}`), /line 5: output without a block/)
})

t.test('… in the output shown matches any text within its line', async (t) => {
  t.match('Key 2 is made.', patternOf('Key … is made.'))
  t.notMatch('Key 2 is not made.', patternOf('Key 2 … is made'))
  t.notMatch('1\n2', patternOf('…'), 'but no line break')
  t.notMatch('anything', patternOf(''))
})

// A fresh checkout under Git, after the first `npm start`, which builds.
function copyProject(scratch: string): string {
  const project = copyCheckout(scratch)
  writeFileSync(path.join(scratch, '.gitconfig'), '[user]\nname = Reader\nemail = reader@localhost\n')
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: project, env: environment(scratch), stdio: 'pipe' })
  git('init', '--quiet')
  writeFileSync(path.join(project, '.git/info/exclude'), 'node_modules\n')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Begin')
  return project
}

// The environment of a reader's shell, without the npm and git settings of the user who runs the test.
function environment(scratch: string): Record<string, string> {
  const { PATH = '', TMPDIR } = process.env
  return {
    PATH,
    HOME: scratch,
    ...(TMPDIR && { TMPDIR }),
    GIT_CONFIG_NOSYSTEM: '1',
  }
}

/** Starts the service if a page calls it. `reveal` makes the addresses shown real, `hide` the reverse. */
async function startFor(t: Test, project: string, blocks: readonly Block[]) {
  const text = blocks.map((block) => (block.notRun === undefined ? block.text : '')).join('')
  if (!text.includes(shownOrigin)) return { hide: same, reveal: same }
  const measured = text.includes(shownMetrics)
  const service = await startProcess(t, measured ? { METRICS_PORT: '0' } : {}, { root: project })
  t.teardown(() => service.stop())
  const origin = new URL(service.base).host
  const metrics = measured ? `127.0.0.1:${(await service.logged('metrics server listening')).port}` : ''
  return {
    reveal: (text: string) => text.replaceAll(shownOrigin, origin).replaceAll(shownMetrics, metrics),
    hide: (text: string) => text.replaceAll(origin, shownOrigin),
  }
}

function same(text: string): string {
  return text
}

// Normalizes line ends and the width of columns.
function asSeen(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/ +/g, ' ').trim()
}

// `…` matches any text within a line.
function patternOf(shown: string): RegExp {
  const parts = asSeen(shown).split('…')
  return new RegExp(`^${parts.map(escaped).join('.*')}$`)
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}
