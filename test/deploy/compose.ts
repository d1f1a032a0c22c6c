// docker-compose.yml matches the service, and its parts match each other.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config.js'
import { projectRoot } from '../../src/lib/paths.js'
import { composed } from '../fixtures/compose.js'

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')

const { services, volumes } = composed
const { service, migrations } = services

t.test('every variable that a container sets is one that it reads', async (t) => {
  const cases: [file: string, environment: object | undefined][] = [
    ['src/config.ts', service?.environment],
    ['src/commands/migrate/migrate.ts', migrations?.environment],
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
