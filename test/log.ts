import { execFile } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { projectRoot } from '../src/paths.js'
import { dataDirectory } from './fixtures/data-directory.js'
import { runProgram, startProcess, temporaryDirectory } from './fixtures/process.js'
import { send } from './fixtures/service.js'

// Into a file: a pipe is full when the reader of a busy machine is late.
async function run(t: Test, ...steps: string[]) {
  const file = path.join(temporaryDirectory(t), 'log')
  const handle = await open(file, 'w')
  t.teardown(() => handle.close())
  const { stderr, code } = await runProgram('test/fixtures/log-program.ts', steps, {}, { stdout: handle.fd })
  const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
  return { told: lines.map((line) => JSON.parse(line).msg), stderr, code }
}

t.test('the lines of a turn are one write, in their order', async (t) => {
  const { told, stderr } = await run(t, 'a', 'b', 'c', 'turn', 'writes', 'd', 'turn', 'writes')
  t.strictSame(told, ['a', 'b', 'c', 'd'])
  t.equal(stderr, '1 writes\n2 writes\n')
})

t.test('none of a turn is left out, however many they are', async (t) => {
  const { told, stderr } = await run(t, '20000 times', 'a line', 'turn')
  t.equal(told.length, 20_000)
  t.equal(stderr, '')
})

const terminalIsMissing = !existsSync('/usr/bin/script') && 'there is no script(1) to make a terminal'

t.test(
  'a person at a terminal reads short lines, in colour if wanted',
  { skip: terminalIsMissing },
  async (t) => {
    const program = `${process.execPath} --import tsx test/fixtures/log-program.ts`
    const read = async (env: Record<string, string>) => {
      const args = ['-qec', `${program} 'a line' 'another'`, '/dev/null']
      const { PATH = '' } = process.env
      const { stdout } = await promisify(execFile)('script', args, {
        cwd: projectRoot,
        env: { PATH, ...env },
      })
      return stdout
    }
    t.match(
      await read({ TERM: 'xterm-256color', NO_COLOR: '1' }),
      /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: a line\r?\n\[.*\] INFO: another\r?\n$/,
    )
    t.match(await read({ TERM: 'xterm-256color' }), '\u001b[32mINFO\u001b[39m: \u001b[36ma line')
  },
)

for (const end of ['exit', 'crash']) {
  t.test(`what was told before an ${end === 'exit' ? end : 'error nobody caught'} is written`, async (t) => {
    const { told, code } = await run(t, 'a', 'turn', 'b', 'c', end)
    t.strictSame(told, ['a', 'b', 'c'])
    t.equal(code, end === 'exit' ? 0 : 1)
  })
}

t.test('a reader that has stopped is waited for once, and not for long', async (t) => {
  const pipe = path.join(temporaryDirectory(t), 'pipe')
  await promisify(execFile)('mkfifo', [pipe])
  const reader = await open(pipe, constants.O_RDWR)
  t.teardown(() => reader.close())
  const steps = ['2000 times', 'a line', 'turn', 'turn', 'exit']
  const { stderr, code } = await runProgram('test/fixtures/log-program.ts', steps, {}, { stdout: reader.fd })
  t.match(stderr, /^The log cannot be written: EAGAIN.*\n$/)
  t.equal(code, 0)
})

t.test('on a full disk', async (t) => {
  t.test('lines are kept until there is room, and each time is told once', async (t) => {
    const steps = ['a', 'turn', 'full', 'b', 'turn', 'c', 'turn', 'room', 'd', 'turn', 'full', 'e', 'turn']
    const { told, stderr, code } = await run(t, ...steps, 'room', 'f')
    t.strictSame(told, ['a', 'b', 'c', 'd', 'e', 'f'])
    t.equal(stderr, 'The log cannot be written: no space left on device\n'.repeat(2))
    t.equal(code, 0)
  })

  t.test('lines beyond those kept are left out, and none once there is room', async (t) => {
    const others = Array.from({ length: 1_000 }, () => ['a line', 'turn']).flat()
    const steps = ['full', '20000 times', 'a line', 'turn', '1 times', ...others]
    const { told } = await run(t, ...steps, 'room', 'b', 'turn', 'c')
    t.ok(told.length > 5_000 && told.length < 20_000)
    t.equal(told.at(-1), 'c')
  })

  const device = '/dev/full'
  t.test('the service goes on, and stops', { skip: !existsSync(device) && `no ${device}` }, async (t) => {
    const full = await open(device, 'w')
    t.teardown(() => full.close())
    const service = await startProcess(t, { DATA_DIR: dataDirectory(t) }, { stdout: full.fd })
    for (const _ of [1, 2, 3]) t.match(await send(`${service.base}/pets`), { status: 401 })
    const { code, stderr } = await service.stop()
    t.equal(code, 0)
    t.match(stderr, /^The log cannot be written: ENOSPC: no space left on device/)
    t.equal(stderr.match(/cannot be written/g)?.length, 1)
  })
})
