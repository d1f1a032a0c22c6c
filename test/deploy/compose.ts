// docker-compose.yml matches the service, and its parts match each other.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { readConfig } from 'contract-service/internal/config'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { callCommand } from '../fixtures/command.js'
import { composed, composeEnvironment } from '../fixtures/compose.js'
import { blockOf } from '../fixtures/pages.js'
import { createDatabase } from '../fixtures/service.js'

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')

const { services, volumes } = composed
const { service, migrations } = services

t.test(
  'the image is of this checkout: one container builds it at each up, and no registry is asked',
  async (t) => {
    const builders = Object.entries(services).filter(([, { build }]) => build !== undefined)
    t.match(builders, [['migrations', { build: '.', pull_policy: 'build' }]])
    const [[builder, { image }]] = builders as [[string, { image?: string }]]
    t.match(image, /^\$\{COMPOSE_PROJECT_NAME:\?[^}]+\}-/, 'the projects of a machine share its images')
    const users = Object.entries(services).filter(([name, each]) => each.image === image && name !== builder)
    t.strictSame(
      users.map(([name]) => name),
      ['service'],
    )
    for (const [name, { pull_policy, depends_on = {} }] of users) {
      t.equal(pull_policy, 'never', name)
      t.ok(builder in depends_on, 'so `up service` builds, too')
    }
  },
)

t.test('two checkouts share neither containers nor volumes', async (t) => {
  t.equal(composed.name, undefined, 'the project has the name of its folder')
  for (const [name, { container_name }] of Object.entries(services)) t.equal(container_name, undefined, name)
  for (const [name, options] of Object.entries(volumes))
    t.equal(options, null, `${name} has no name of its own`)
})

const compose = (...args: string[]) =>
  spawnSync('docker', ['compose', '--file', path.join(projectRoot, 'docker-compose.yml'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, COMPOSE_PROJECT_NAME: undefined },
  })

const without = compose('version').status !== 0 && 'docker compose is not installed'

t.test('Compose reads the file, and names the image after the project', { skip: without }, async (t) => {
  const profiles = ['--profile', 'monitoring', '--profile', 'balancer']
  const read = compose('--project-name', 'other', ...profiles, 'config', '--format', 'json')
  t.equal(read.status, 0, read.stderr)
  const { services } = JSON.parse(read.stdout) as typeof composed
  t.strictSame(Object.keys(services).sort(), Object.keys(composed.services).sort())
  for (const name of ['service', 'migrations']) t.equal(services[name]?.image, 'other-service')
})

// Commands of the pages, one a line: those of `docker compose` and what is exported for them.
const docs = readdirSync(path.join(projectRoot, 'docs')).filter((name) => name.endsWith('.md'))
const pages = ['README.md', ...docs.map((page) => `docs/${page}`)]
const shellLines = pages.flatMap((page) =>
  read(page)
    .split('\n')
    .map((line) => ({ page, line })),
)
const commands = shellLines.flatMap(({ page, line }) => {
  const found = line.matchAll(/((?:[A-Z_]+=\S* )*)docker compose ([^`|]+)/g)
  return [...found].map(([text, variables = '', args = '']) => ({ page, text, variables, args }))
})

t.test('the pages call containers, profiles and variables that exist', async (t) => {
  const all = Object.values(services)
  const profiles = new Set(all.flatMap(({ profiles = [] }) => profiles))
  const file = read('docker-compose.yml')
  t.ok(commands.length > 5)
  for (const { page, text, variables, args } of commands) {
    for (const [, profile = ''] of args.matchAll(/--profile (\S+)/g)) t.ok(profiles.has(profile), text)
    const [, name] = /^(?:exec|logs|restart|port)(?: --?\S+)* ([\w-]+)/.exec(args) ?? []
    if (name !== undefined) t.ok(name in services, `${page}: ${text}`)
    for (const [, variable] of variables.matchAll(/([A-Z_]+)=/g)) t.match(file, `\${${variable}:-`, text)
  }
})

t.test(
  'what a stack is started with is in .env, so that a later command from another shell keeps it',
  async (t) => {
    const lines = shellLines.filter(({ line }) => /printf .*>> \.env$/.test(line))
    const set = lines.flatMap(({ line }) => [...line.matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name))
    t.strictSame(set.sort(), ['COMPOSE_PROFILES', 'PORTS', 'REPLICAS', 'SHUTDOWN_DELAY_MS', 'TRUST_PROXY'])
    const file = read('docker-compose.yml')
    for (const name of set.filter((each) => each !== 'COMPOSE_PROFILES'))
      t.ok(file.includes(`\${${name}:-`), name)
    t.match(service?.deploy?.replicas, /^\$\{REPLICAS:-1\}$/)
    for (const { page, text, variables, args } of commands) {
      t.equal(variables, '', `${page}: ${text}`)
      t.notMatch(args, / --scale/, `${page}: ${text}`)
    }
    t.notOk(shellLines.find(({ line }) => /^export (PORTS|TRUST_PROXY|SHUTDOWN_DELAY_MS)/.test(line)))
  },
)

const quickStart = blockOf('docs/deploying.md', 'docker compose up --detach')
const severalInstances = blockOf('docs/deploying.md', 'printf')
const rollout = blockOf('docs/deploying.md', 'deploy/compose/rollout')

// Runs a block in a folder, with a docker that tells its arguments and does nothing.
function runBlock(cwd: string, block: string): string[] {
  writeFileSync(path.join(cwd, 'docker'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
  const env = { PATH: `${cwd}:${process.env.PATH}` }
  return execFileSync('bash', ['-euc', block], { cwd, env, encoding: 'utf8' }).trim().split('\n')
}

t.test('the first commands start the stack, and create a key by a command of the image', async (t) => {
  const [up, ...others] = runBlock(temporaryDirectory(t), quickStart)
  t.equal(up, 'compose up --detach --wait')
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const inService = commands.flatMap(({ args }) => /^exec service (keys .+)$/.exec(args.trim())?.[1] ?? [])
  t.strictSame(others, [`compose exec service ${inService[0]}`])
  t.ok(inService.length > 1)
  for (const [name, ...args] of inService.map((each) => each.split(' ')))
    t.match(await callCommand(name as 'keys', args, { DATABASE_URL: url }), { code: 0 }, args.join(' '))
})

t.test('several instances have HAProxy before them, by variables in .env alone', async (t) => {
  const folder = temporaryDirectory(t)
  t.strictSame(runBlock(folder, severalInstances), ['compose up --detach --wait'])
  const lines = readFileSync(path.join(folder, '.env'), 'utf8').trim().split('\n')
  const env = Object.fromEntries(lines.map((line) => line.split('=')))
  const [profile] = services.balancer?.profiles ?? []
  t.match(env, { COMPOSE_PROFILES: profile, PORTS: '0' })
  const config = readConfig(composeEnvironment('service', env))
  t.strictSame([config.trustProxy, config.shutdownDelayMs], [['uniquelocal'], 7000])
  if (without !== false) return
  const set = { ...process.env, COMPOSE_PROJECT_NAME: undefined, ...env }
  const args = ['compose', '--project-name', 'other', 'config', '--format', 'json']
  const { stdout } = spawnSync('docker', args, { cwd: projectRoot, encoding: 'utf8', env: set })
  t.match(JSON.parse(stdout), { services: { service: { deploy: { replicas: 4 } }, balancer: {} } })
})

// Prints the containers of two instances and, of all, another one.
const listing = `'compose ps --quiet'*) printf "$OLD" ;; 'compose ps --all'*) printf 'a\\nb\\nc\\n' ;;`

t.test('a rollout stops the old instances in turn, once as many new ones are healthy', async (t) => {
  const folder = temporaryDirectory(t, { log: '' })
  const log = path.join(folder, 'log')
  const docker = (fails: string) =>
    `#!/bin/sh\necho "$@" >> ${log}\ncase "$*" in ${fails}) exit 1 ;; ${listing} esac\n`
  const rollOut = (fails: string, OLD = 'a\\nb\\n') => {
    writeFileSync(log, '')
    writeFileSync(path.join(folder, 'docker'), docker(fails), { mode: 0o755 })
    writeFileSync(path.join(folder, 'sleep'), '#!/bin/sh\n', { mode: 0o755 })
    const env = { PATH: `${folder}:${process.env.PATH}`, OLD }
    const { status } = spawnSync('bash', ['-euc', rollout], { cwd: projectRoot, env })
    return [status, ...readFileSync(log, 'utf8').trim().split('\n')]
  }
  const migrate = 'compose run --rm --build --no-TTY migrations'
  const start = 'compose up --detach --wait --no-deps --no-recreate --scale service=4 service'
  const before = ['compose ps --quiet service', migrate, start]
  const stops = ['stop -t 30 a', 'rm a', 'stop -t 30 b', 'rm b']
  const removed = ['compose ps --all --quiet service', 'logs --tail 5 c', 'rm --force c']
  t.strictSame(rollOut('none'), [0, ...before, ...stops])
  t.strictSame(rollOut("'compose up'*"), [1, ...before, ...removed], 'the old ones stay, and no new one')
  t.strictSame(rollOut("'compose run'*"), [1, ...before.slice(0, 2)])
  const first = ['compose ps --quiet service', migrate, 'compose up --detach --wait']
  t.strictSame(rollOut('none', ''), [0, ...first], 'where none runs, it starts the stack')
  const [place = ''] = /(?<=server-template service )\d+/.exec(read('deploy/haproxy/compose.cfg')) ?? []
  const many = (count: number) => 'a\\n'.repeat(count)
  t.equal(rollOut('none', many(Number(place) / 2)).length, 1 + before.length + Number(place))
  t.strictSame(
    rollOut('none', many(Number(place) / 2 + 1)),
    [1, 'compose ps --quiet service'],
    'no more than have room',
  )
})

t.test(
  'no page sends a signal by the engine, which would then take the container as stopped by hand',
  async (t) => {
    t.notOk(commands.find(({ args }) => /^kill .*-s/.test(args)))
    t.ok(commands.find(({ args }) => args.startsWith("exec service sh -c 'kill -USR2 1'")))
  },
)

t.test(
  'the image is built from what it copies, and neither it nor git has the passwords in .env',
  async (t) => {
    const copies = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
    const sources = copies.flatMap(([, names = '']) => names.split(' ').map((name) => name.split('/')[0]))
    const [first, ...others] = read('.dockerignore').trim().split('\n')
    t.equal(first, '*', 'nothing else is sent to the engine')
    const sent = others.filter((line) => line.startsWith('!'))
    t.strictSame(sent.sort(), [...new Set(sources.map((name) => `!${name}`))].sort())
    t.ok(read('.gitignore').split('\n').includes('.env'))
  },
)

t.test('every variable that a container sets is one that it reads', async (t) => {
  const cases: [file: string, environment: object | undefined][] = [
    ['packages/service/src/config.ts', service?.environment],
    ['packages/service/src/commands/migrate/migrate.ts', migrations?.environment],
  ]
  for (const [file, environment = {}] of cases) {
    const known: readonly string[] = read(file).match(/[A-Z][A-Z_]+/g) ?? []
    t.ok(Object.keys(environment).length > 0)
    for (const name of Object.keys(environment)) t.ok(known.includes(name), name)
  }
})

t.test('a graceful shutdown fits into the grace period', async (t) => {
  const delayMs = Number(/:-(\d+)\}/.exec(String(service?.environment?.SHUTDOWN_DELAY_MS))?.[1])
  const graceMs = Number.parseInt(service?.stop_grace_period ?? '', 10) * 1000
  t.ok(graceMs > delayMs + readConfig({}).shutdownTimeoutMs)
})

t.test('containers wait for a health check, or for a command that does not restart', async (t) => {
  t.equal(migrations?.restart, 'no', 'a wrong password would fail again')
  for (const { depends_on = {} } of Object.values(services)) {
    for (const [name, { condition }] of Object.entries(depends_on)) {
      if (condition === 'service_healthy') t.ok(services[name]?.healthcheck?.test, name)
      else
        t.match(
          { condition, restart: services[name]?.restart },
          { condition: 'service_completed_successfully', restart: 'no' },
        )
    }
  }
})

t.test('ports are published on the loopback address, and mounted files exist', async (t) => {
  for (const { ports = [], volumes: mounted = [] } of Object.values(services)) {
    for (const port of ports) t.match(port, /^127\.0\.0\.1:/)
    for (const [place = ''] of mounted.map((each) => each.split(':')))
      t.ok(place.startsWith('./') ? existsSync(path.join(projectRoot, place)) : place in volumes, place)
  }
})

t.test('every container’s log is limited', async (t) => {
  for (const [name, { logging }] of Object.entries(services))
    t.match(logging?.options, { 'max-size': /^\d+m$/, 'max-file': /^\d+$/ }, name)
})

t.test('no URL contains a password, whose characters would need an encoding', async (t) => {
  for (const { environment = {} } of Object.values(services))
    for (const [name, text] of Object.entries(environment))
      if (name.endsWith('_URL') && name !== 'PUBLIC_URL') t.notMatch(String(text), /:[^/]*@|\$/, name)
})
