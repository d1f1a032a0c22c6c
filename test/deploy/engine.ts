// docker-compose.yml and deploy/systemd on a real engine: with images of Debian's programs, since none can be
// pulled in CI, and with systemd in a container of these.

import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import {
  buildStandIn,
  copyStack,
  engineIsMissing,
  eventually,
  type Run,
  standIn,
  startEngine,
} from '../fixtures/engine.js'
import { blockOf } from '../fixtures/pages.js'

const isReady = async (origin: string) => {
  const signal = AbortSignal.timeout(10_000)
  return fetch(`${origin}/readyz`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  )
}

// Signals a container's process from within, as nothing but the process itself would do.
const signalNode = (signal: string) =>
  `for each in /proc/[0-9]*; do case "$(tr '\\0' ' ' < $each/cmdline 2> /dev/null)" in
    node*main.js*) kill -${signal} \${each#/proc/} ;; esac; done`

t.test('containers', { skip: engineIsMissing }, async (t) => {
  const run = await startEngine(t)
  if (typeof run === 'string') return t.plan(0, run)
  const folder = mkdtempSync('/var/tmp/animal-store-images-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await buildStandIn(run, folder)
  await t.test('docker-compose.yml', (t) => tryStack(t, run, copyStack(folder)))
  await t.test('deploy/systemd', (t) => tryUnits(t, run))
})

async function tryStack(t: Test, run: Run, copy: string) {
  const compose = (...args: string[]) => run('docker', ['compose', ...args], copy)
  // What failed is in the log of a container.
  const up = async () =>
    compose('up', '--detach', '--wait').catch(async ({ stderr }) => {
      throw new Error(`${stderr}\n${await compose('logs', '--tail', '5')}`)
    })
  const exec = (name: string, ...command: string[]) => compose('exec', '--no-TTY', name, ...command)
  const paste = (block: string) => run('bash', ['-ec', block], copy)
  const originOf = async (name: string) => `http://${(await compose('port', name, '3000')).trim()}`
  const set = (...lines: string[]) => appendFileSync(path.join(copy, '.env'), `${lines.join('\n')}\n`)
  const restarts = async () => {
    const id = (await compose('ps', '--quiet', 'service')).trim()
    return Number(await run('docker', ['inspect', '--format', '{{.RestartCount}}', id]))
  }

  set('PORTS=0', 'BALANCER_PORT=0', "SERVICE_PASSWORD='a:/?#@%$ b'", "POSTGRES_PASSWORD='it\\'s \"old\"'")
  t.teardown(() => compose('--profile', 'balancer', 'down', '--volumes', '--timeout', '0'))
  await up()

  await t.test('a key that is created in the container is served', async (t) => {
    const printed = await exec('service', 'keys', 'create', '--name', 'me', '--plan', 'free')
    const authorization = `Bearer ${printed.trim().split('\n').at(-1)}`
    const { status } = await fetch(`${await originOf('service')}/v1/pets`, { headers: { authorization } })
    t.equal(status, 200)
  })

  for (const [signal, what] of [
    ['KILL', 'is killed'],
    ['STOP', 'hangs'],
  ] as const)
    await t.test(`a process that ${what} is replaced`, async (t) => {
      const before = await restarts()
      await exec('service', 'sh', '-c', signalNode(signal))
      await eventually(async () => (await restarts()) > before)
      await eventually(async () => isReady(await originOf('service')))
      t.equal(await restarts(), before + 1)
    })

  await t.test('passwords are changed as the page says, also from another shell', async (t) => {
    await paste(blockOf('docs/operating.md', 'docker compose exec database'))
    set('SERVICE_PASSWORD=other')
    await up()
    t.ok(await isReady(await originOf('service')))
    const login =
      'PGPASSWORD=other psql --host=database --username=animal_store_service animal_store -tAc "select 1"'
    t.equal((await exec('database', 'sh', '-c', login)).trim(), '1')
  })

  await t.test('a rollout of new code loses no request', async (t) => {
    set('COMPOSE_PROFILES=balancer', 'REPLICAS=2', 'TRUST_PROXY=uniquelocal', 'SHUTDOWN_DELAY_MS=7000')
    await up()
    const before = await compose('images', '--quiet', 'service')
    const origin = await originOf('balancer')
    const load = callUntil(`${origin}/healthz`)
    writeFileSync(path.join(copy, 'src/main.ts'), `// new\n${readFileSync(path.join(copy, 'src/main.ts'))}`)
    await run('deploy/compose/rollout', [], copy).finally(load.stop)
    const { calls, lost } = await load.done
    t.notSame(await compose('images', '--quiet', 'service'), before, 'it runs the new code')
    t.strictSame(lost, [])
    t.comment(`${calls} requests`)
    t.ok(calls > 100)
  })
}

// Calls from eight clients until it is stopped. Lost is what no instance responded to: its responses have a
// policy, those that HAProxy makes by itself have none. A busy machine's 503 is not lost.
function callUntil(url: string) {
  let isOver = false
  let calls = 0
  const lost: unknown[] = []
  const client = async () => {
    for (; !isOver; calls += 1)
      await fetch(url).then(
        async (response) => {
          await response.text()
          if (!response.headers.has('content-security-policy')) lost.push(response.status)
        },
        (error) => lost.push(error.cause ?? error),
      )
  }
  const clients = Promise.all(Array.from({ length: 8 }, client))
  const stop = () => {
    isOver = true
  }
  return { stop, done: clients.then(() => ({ calls, lost })) }
}

async function tryUnits(t: Test, run: Run) {
  await run('docker', ['network', 'create', 'units'])
  const rights = ['--cap-add=SYS_ADMIN', '--security-opt=seccomp=unconfined', '--cgroupns=host']
  const places = ['/run', '/run/lock', '/tmp'].flatMap((place) => ['--tmpfs', place])
  const mounts = ['/sys/fs/cgroup:/sys/fs/cgroup', `${projectRoot}:/opt/animal-store:ro`]
  const volumes = mounts.flatMap((mount) => ['--volume', mount])
  const options = ['--detach', '--name=units', '--network=units', ...rights, ...places, ...volumes]
  await run('docker', ['run', ...options, standIn, '/lib/systemd/systemd'])
  t.teardown(async () => {
    await run('docker', ['rm', '--force', '--volumes', 'units'])
    await run('docker', ['network', 'rm', 'units'])
  })
  const shell = (script: string) =>
    run('docker', ['exec', '--workdir=/opt/animal-store', 'units', 'bash', '-ec', script])
  const succeeds = (script: string) =>
    shell(script).then(
      () => true,
      () => false,
    )
  const show = async (port: number, property: string) =>
    (await shell(`systemctl show --property=${property} --value animal-store@${port}`)).trim()
  const restarted = async (port: number) => {
    await eventually(async () => (await show(port, 'NRestarts')) !== '0')
    await eventually(async () => (await show(port, 'ActiveState')) === 'active')
  }
  await eventually(() => succeeds('systemctl is-active postgresql@15-main || systemctl is-active postgresql'))

  await t.test('the instances start by the block of the page, and are ready when it returns', async (t) => {
    await shell(`cd / && runuser -u postgres -- psql --quiet --command="create role owner superuser login
      password 'it''s'" --command='create database animal_store owner owner'`)
    const settings = `sed -i "s/db.example/127.0.0.1/; s/redis.example/127.0.0.1/
      s/^SERVICE_PASSWORD=.*/SERVICE_PASSWORD='a\\"\\$b'/" /etc/animal-store/*.env
      sed -i "s/^PGPASSWORD=.*/PGPASSWORD=\\"it's\\"/" /etc/animal-store/migrations.env
      sed -i "s/^PGPASSWORD=.*/PGPASSWORD='a\\"\\$b'/" /etc/animal-store/service.env`
    const block = blockOf('docs/deploying.md', 'install -d')
    await shell(block.replace(/^install -m 644/m, `${settings}\n$&`))
    t.equal(await shell('systemd-analyze verify animal-store@3001.service animal-store.target'), '')
    for (const port of [3001, 3002, 3003, 3004])
      t.ok(await succeeds(`curl --silent --fail http://127.0.0.1:1${port}/readyz`), `${port}`)
  })

  await t.test('the block for a new version replaces each instance', async (t) => {
    const before = await show(3004, 'MainPID')
    await shell(blockOf('docs/deploying.md', 'install -m 644'))
    t.not(await show(3004, 'MainPID'), before)
    t.equal(await show(3004, 'ActiveState'), 'active')
  })

  await t.test('an instance that is killed, and one that hangs, start again', async (t) => {
    await shell(`kill -KILL ${await show(3001, 'MainPID')}; kill -STOP ${await show(3002, 'MainPID')}`)
    await restarted(3001)
    await restarted(3002)
    t.match(await shell('journalctl --unit=animal-store@3002 --output=cat'), /watchdog/i)
  })
}
