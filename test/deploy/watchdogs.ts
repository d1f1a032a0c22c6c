// What the files of deploy/ do about a process that hangs: systemd's watchdog, and the health check of
// Compose.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { composed } from '../fixtures/compose.js'

const never: RequestListener = () => {}
const refuse: RequestListener = (_, response) => response.writeHead(503).end()

async function listen(t: Test, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

const unit = readFileSync(path.join(projectRoot, 'deploy/systemd/animal-store@.service'), 'utf8')
const [, watch = ''] = /^ExecStart=\/bin\/sh -c '([^']*)'$/m.exec(unit) ?? []

// The unit's own commands, with a clock that does not wait, and a notification that tells of itself.
function runUnit(t: Test, port: number) {
  const folder = temporaryDirectory(t)
  const programs = {
    'systemd-notify': 'echo "$1"',
    curl: 'exec /usr/bin/env "PATH=$REAL" curl --max-time 0.2 "$@"',
  }
  for (const [name, line] of Object.entries({ ...programs, sleep: 'exec /bin/sleep 0.05' }))
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  const script = watch
    .replaceAll('$$', '$')
    .replaceAll('\\\n', '')
    .replace('1%i', String(port))
    .replace('--max-time 10', '')
    .replace(/exec .*$/, 'wait')
  const env = { PATH: `${folder}:${process.env.PATH}`, REAL: process.env.PATH }
  const child = spawn('/bin/sh', ['-c', script], { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => process.kill(-(child.pid ?? 0), 'SIGKILL'))
  return createInterface({ input: child.stdout })
}

t.test('systemd is told that a process lives, whatever it responds, and before it listens', async (t) => {
  t.match(unit, /^WatchdogSec=60$/m)
  t.match(unit, /^NotifyAccess=all$/m, 'a child of the process tells it')
  for (const port of [await listen(t, refuse), 1]) {
    const [line] = await once(runUnit(t, port), 'line')
    t.equal(line, 'WATCHDOG=1')
  }
})

t.test('systemd is told nothing of a process that does not respond', async (t) => {
  let asked = 0
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    listen(t, () => ++asked === 3 && resolve())
      .then((port) => runUnit(t, port).on('line', (line) => resolve(void lines.push(line))))
      .catch(reject)
  })
  t.strictSame(lines, [])
})

const check = composed.services.service?.healthcheck?.test?.[3] ?? ''

// A process that is listed, and has ended when it is looked at: no id is as high.
const endedMeanwhile =
  "const list = fs.readdirSync; fs.readdirSync = (folder) => ['99999999', ...list(folder)]\n"

// The check of Compose beside a process of the service, whose name is its own: others run on this machine.
async function runCheck(t: Test, answer: RequestListener, limited = (script: string) => script) {
  const port = await listen(t, answer)
  const name = `service-${port}-main.js`
  const file = path.join(temporaryDirectory(t), name)
  writeFileSync(file, 'setInterval(() => {}, 1000)')
  const service = spawn(process.execPath, [file])
  t.teardown(() => void service.kill('SIGKILL'))
  const script = check.replaceAll('$$', '$').replace('9464', String(port)).replace('main.js', name)
  const program = endedMeanwhile + limited(script)
  const checked = spawn(process.execPath, ['-e', program], { stdio: 'inherit' })
  const [code] = await once(checked, 'exit')
  return { code, service }
}

t.test('the check of Compose accepts a ready instance, and kills none that responds', async (t) => {
  const cases: [RequestListener, number][] = [
    [(_, response) => response.end('{}'), 0],
    [refuse, 1],
  ]
  for (const [answer, expected] of cases) {
    const { code, service } = await runCheck(t, answer)
    t.equal(code, expected)
    t.equal(service.signalCode, null)
  }
})

t.test(
  'the check of Compose kills an instance that hangs, which the restart policy starts again',
  async (t) => {
    // A tenth of its limits, which are what is waited for.
    const { code, service } = await runCheck(t, never, (script) => script.replaceAll('000)', '00)'))
    t.equal(code, 1)
    const signal = AbortSignal.timeout(60_000)
    if (service.signalCode === null) await once(service, 'exit', { signal })
    t.equal(service.signalCode, 'SIGKILL')
    t.equal(composed.services.service?.restart, 'unless-stopped')
  },
)
