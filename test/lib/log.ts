import { execFile } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { dataDirectory } from 'contract-service/fixtures/data-directory'
import { runProgram, startProcess, temporaryDirectory } from 'contract-service/fixtures/process'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { send } from '../fixtures/service.js'

// Logs to a file: on a busy machine the reader of a pipe may be late, and the pipe full.
async function run(t: Test, ...steps: string[]) {
  const file = path.join(temporaryDirectory(t), 'log')
  const handle = await open(file, 'w')
  t.teardown(() => handle.close())
  const { stderr, code } = await runProgram('test/fixtures/log-program.ts', steps, {}, { stdout: handle.fd })
  const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
  return { messages: lines.map((line) => JSON.parse(line).msg), stderr, code }
}

t.test('the lines of one iteration of the event loop are one write, in order', async (t) => {
  const { messages, stderr } = await run(t, 'a', 'b', 'c', 'tick', 'writes', 'd', 'tick', 'writes')
  t.strictSame(messages, ['a', 'b', 'c', 'd'])
  t.equal(stderr, '1 writes\n2 writes\n')
})

t.test('no line of an iteration is dropped, however many they are', async (t) => {
  const { messages, stderr } = await run(t, '20000 times', 'a line', 'tick')
  t.equal(messages.length, 20_000)
  t.equal(stderr, '')
})

const terminalIsMissing = !existsSync('/usr/bin/script') && 'there is no script(1) to make a terminal'

t.test(
  'a terminal shows short lines, in colour unless NO_COLOR is set',
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
  t.test(`lines before an ${end === 'exit' ? end : 'uncaught error'} are written`, async (t) => {
    const { messages, code } = await run(t, 'a', 'tick', 'b', 'c', end)
    t.strictSame(messages, ['a', 'b', 'c'])
    t.equal(code, end === 'exit' ? 0 : 1)
  })
}

t.test('a stopped reader delays the process once, and not for long', async (t) => {
  const pipe = path.join(temporaryDirectory(t), 'pipe')
  await promisify(execFile)('mkfifo', [pipe])
  const reader = await open(pipe, constants.O_RDWR)
  t.teardown(() => reader.close())
  const steps = ['2000 times', 'a line', 'tick', 'tick', 'exit']
  const { stderr, code } = await runProgram('test/fixtures/log-program.ts', steps, {}, { stdout: reader.fd })
  t.match(stderr, /^cannot write the log: EAGAIN.*\n$/)
  t.equal(code, 0)
})

t.test('on a full disk', async (t) => {
  t.test('lines are buffered until there is room, and each failure is reported once', async (t) => {
    const steps = ['a', 'tick', 'full', 'b', 'tick', 'c', 'tick', 'room', 'd', 'tick', 'full', 'e', 'tick']
    const { messages, stderr, code } = await run(t, ...steps, 'room', 'f')
    t.strictSame(messages, ['a', 'b', 'c', 'd', 'e', 'f'])
    t.equal(stderr, 'cannot write the log: no space left on device\n'.repeat(2))
    t.equal(code, 0)
  })

  t.test('lines beyond the buffer are dropped, and none once there is room', async (t) => {
    const others = Array.from({ length: 1_000 }, () => ['a line', 'tick']).flat()
    const steps = ['full', '20000 times', 'a line', 'tick', '1 times', ...others]
    const { messages, stderr } = await run(t, 'lost', ...steps, 'room', 'b', 'tick', 'c', 'tick', 'lost')
    t.ok(messages.length > 5_000 && messages.length < 20_000)
    t.equal(messages.at(-1), 'c')
    const lost = stderr.match(/^\d+ lost$/gm)
    t.strictSame(lost, ['0 lost', `${20_000 + 1_000 + 2 - messages.length} lost`], 'each is counted')
  })

  const device = '/dev/full'
  t.test('the service serves, and shuts down', { skip: !existsSync(device) && `no ${device}` }, async (t) => {
    const full = await open(device, 'w')
    t.teardown(() => full.close())
    const service = await startProcess(t, { DATA_DIR: dataDirectory(t) }, { stdout: full.fd })
    for (const _ of [1, 2, 3]) t.match(await send(`${service.base}/pets`), { status: 401 })
    const { code, stderr } = await service.stop()
    t.equal(code, 0)
    t.match(stderr, /^cannot write the log: ENOSPC: no space left on device/)
    t.equal(stderr.match(/cannot write/g)?.length, 1)
  })
})
