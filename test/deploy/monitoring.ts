// The dashboard and the alert rules of deploy/monitoring/ query metrics and labels that the service exports.

import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { notImplemented } from 'contract-engine'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { listenForScrapes } from 'contract-service/fixtures/metrics'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { fixture } from 'contract-service/fixtures/root'
import type { AppParts } from 'contract-service/internal/app'
import { apiKeys } from 'contract-service/internal/auth/api-keys'
import { readServiceContract } from 'contract-service/internal/auth/plans'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { calm, faultOf, faults, inputOf, playMinutes } from '../fixtures/alert-plays.js'
import { composed } from '../fixtures/compose.js'
import { blockOf } from '../fixtures/pages.js'
import { missing } from '../fixtures/programs.js'
import { type Expectation, promtoolIsMissing, promtoolSays } from '../fixtures/promtool.js'
import { createDatabase, send, startService } from '../fixtures/service.js'

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[]
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly labels: { readonly failure?: string }
      readonly annotations: { readonly runbook_url: string }
    }[]
  }[]
}

interface Prometheus {
  readonly scrape_configs: readonly {
    readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[]
  }[]
}

const dashboard = JSON.parse(read('deploy/monitoring/grafana/dashboards/animal-store.json')) as Dashboard
const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const alerts = (parse(read('deploy/monitoring/alerts.yaml')) as Rules).groups.flatMap(({ rules }) => rules)
const namesIn = (text: string) => text.match(/\b(animal_store|nodejs|process)_\w+/g) ?? []

// Those that Prometheus adds: of one service in one environment.
const environmentLabels = ['job', 'namespace', 'cluster']
const queries = [...shown, ...alerts.map(({ expr }) => expr)]

t.test('a service that has responded once', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const service = await startProcess(t, { DATABASE_URL: url, METRICS_PORT: '0' })
  const { port } = await service.logged('metrics server listening')
  await send(`${new URL(service.base).origin}/healthz`)
  const { text } = await send(`http://127.0.0.1:${port}/metrics`)
  t.match(await service.stop(), { code: 0 })
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type]),
  )

  t.test('exports every metric that a file of deploy/ names', async (t) => {
    const files = readdirSync(path.join(projectRoot, 'deploy'), { recursive: true, encoding: 'utf8' })
    for (const file of files.filter((name) => /\.(json|yaml)$/.test(name))) {
      for (const name of new Set(namesIn(read(path.join('deploy', file))))) {
        const isPart = types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram'
        t.ok(isPart || types.has(name), `${file}: ${name}`)
      }
    }
  })

  t.test('exports the labels that queries use, of streams once it has sent one', async (t) => {
    const exported = text + (await metricsOfStream(t))
    const matched = queries.flatMap((expr) => [...expr.matchAll(/\b(animal_store_\w+)\{([^}]*)\}/g)])
    t.ok(matched.length > 20)
    for (const [, name = '', matchers = ''] of matched) {
      const labels = new RegExp(`^${name}\\{(.*)\\}`, 'm').exec(exported)?.[1] ?? ''
      for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=|!)/g))
        t.ok(environmentLabels.includes(label ?? '') || labels.includes(`${label}="`), `${label} of ${name}`)
    }
  })

  t.test('exports names that promtool accepts', { skip: promtoolIsMissing }, async (t) => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text })
    t.strictSame([status, String(stdout), String(stderr)], [0, '', ''])
  })

  t.test('exports no metric of its own that the dashboard omits', async (t) => {
    for (const name of [...types.keys()].filter((name) => name.startsWith('animal_store_'))) {
      const isShown = shown.some((expr) => expr.includes(name))
      t.ok(isShown, name)
    }
  })
})

/** The metrics of a service whose contract has streams, as the animals' has none. */
async function metricsOfStream(t: Test): Promise<string> {
  const names = ['watch', 'begin', 'list', 'complete', 'download', 'plain']
  const download = async () => ({ status: 200, body: Readable.from(['ab']) })
  const handlers = Object.fromEntries(names.map((name) => [name, notImplemented(name)]))
  const service = await startService(t, {
    contract: await readServiceContract(fixture('streams.yaml')),
    // Their types are of the contract that the compiler knows.
    handlers: { ...handlers, download } as unknown as AppParts['handlers'],
    schemes: { key: apiKeys() } as AppParts['schemes'],
    env: { METRICS_PORT: '9464' },
  })
  t.match(await service.call('GET', '/file'), { status: 200 })
  return (await send(await listenForScrapes(service))).text
}

t.test('no query adds up or joins two environments of a job', async (t) => {
  for (const query of queries) {
    const groups = [...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].filter(([, labels]) => labels !== 'cause')
    for (const [, labels = ''] of groups) t.ok(labels.startsWith(environmentLabels.join(', ')), query)
    t.notMatch(query, /\b(?:sum|max|min|avg|count|group) ?\((?!animal_store_ready)/, query)
  }
})

t.test('compose runs Prometheus in the monitoring profile, which scrapes the metrics port', async (t) => {
  const { scrape_configs } = parse(read('deploy/monitoring/prometheus.yml')) as Prometheus
  const { services } = composed
  for (const name of ['prometheus', 'grafana']) t.strictSame(services[name]?.profiles, ['monitoring'])
  const targets = scrape_configs.flatMap(({ dns_sd_configs }) => dns_sd_configs)
  t.ok(targets.length > 0)
  for (const { names, port } of targets)
    for (const name of names) t.equal(services[name]?.environment?.METRICS_PORT, port)
})

t.test('the rules’ test expects every alert to fire', async (t) => {
  const text = read('deploy/monitoring/alerts-test.yaml')
  for (const { alert } of alerts) t.ok(text.includes(`alertname="${alert}"`), alert)
})

t.test('promtool accepts the rules, and their test passes', { skip: promtoolIsMissing }, async (t) => {
  const promtool = (...args: string[]) =>
    execFileSync('promtool', args, { cwd: path.join(projectRoot, 'deploy/monitoring'), encoding: 'utf8' })
  t.match(promtool('check', 'config', 'prometheus.yml'), /SUCCESS/)
  t.match(promtool('test', 'rules', 'alerts-test.yaml'), /SUCCESS/)
})

const selectorOf = ({ alert, labels: { failure } }: (typeof alerts)[number]) =>
  failure === undefined ? alert : `${alert}{failure="${failure}"}`

/** Of each alert, by its selector: the share of the time from which the page says that it fires. */
const sharesOf = new Map(
  [...read('docs/operating.md').matchAll(/^\| ([\d.]+) % \| (.*) \|$/gm)].flatMap(([, share, cell = '']) =>
    [...cell.matchAll(/`(.+?)`/g)].map(([, selector = '']) => [selector, Number(share)] as const),
  ),
)
const periods = [1, 6, 15]

t.test(
  'an alert fires from the share of time that the page names',
  { skip: promtoolIsMissing },
  async (t) => {
    t.strictSame([...sharesOf.keys()].sort(), alerts.map(selectorOf).sort())
    for (const [selector, share] of sharesOf) {
      const rules = alerts.filter(({ alert }) => selector.split('{')[0] === alert)
      const shares = [0.5, 5, 20, 50, ...(share === 100 ? [100] : [])]
      const played = shares.map((percent) => playsOf(selector, percent, percent >= share))
      t.equal(promtoolSays(t, rules, played), 'SUCCESS', selector)
    }
  },
)

/** An alert's fault for this share of each period: whether it fires must not depend on the period. */
function playsOf(selector: string, sharePercent: number, fires: boolean): Expectation {
  const failure = /failure="(\w+)"/.exec(selector)?.[1] ?? ''
  const plays = periods.map((periodMinutes) => ({
    job: `${sharePercent} % of ${periodMinutes} min`,
    fault: faultOf(sharePercent, periodMinutes),
  }))
  return {
    series: plays.flatMap(({ job, fault }) => inputOf(job, faults[selector]?.(fault) ?? [])),
    query: `group by (job) (max_over_time(ALERTS{alertstate="firing", failure="${failure}"}[${playMinutes}m]))`,
    minutes: playMinutes,
    jobs: fires ? plays.map(({ job }) => job) : [],
  }
}

t.test('no alert fires of what is calm', { skip: promtoolIsMissing }, async (t) => {
  const query = `group by (alertname) (max_over_time(ALERTS[${playMinutes}m]))`
  for (const [name, series] of Object.entries(calm)) {
    const expectation = { series: inputOf('calm', series), query, minutes: playMinutes, jobs: [] }
    t.equal(promtoolSays(t, alerts, [expectation]), 'SUCCESS', name)
  }
})

const { pathname, hash } = new URL(alerts[0]?.annotations.runbook_url ?? '')
const [heading, page] = [hash.slice(1), pathname.slice(pathname.indexOf('/docs/') + 1)]
const section =
  read(page)
    .split(/^## /m)
    .find((each) => slugOf(each.split('\n')[0] ?? '') === heading) ?? ''
const functions = blockOf('docs/operating.md', 'logs() {')
const forOperator = blockOf('docs/operating.md', '{ printf')

function slugOf(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-')
}

t.test('each alert leads to a row of the runbook, and the row to a command', async (t) => {
  const programs = ['curl', 'docker', 'kubectl', 'psql', 'systemctl', ...namesOf(functions)]
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  for (const rule of alerts) {
    const alert = selectorOf(rule)
    t.equal(rule.annotations.runbook_url, alerts[0]?.annotations.runbook_url, alert)
    const own = rows.filter((row) => row.split(' | ')[0]?.includes(`\`${alert}\``))
    t.equal(own.length, 1, alert)
    const [, program = ''] = /^`(\S+?)[ `]/.exec(own[0]?.split(' | ')[1] ?? '') ?? []
    t.ok(programs.includes(program), `${alert}: ${program}`)
  }
})

function namesOf(script: string): string[] {
  return [...script.matchAll(/^(\w+)\(\)/gm)].map(([, name = '']) => name)
}

// kubectl that keeps what it would apply, and labels what it would create.
const dryKubectl = `#!/bin/sh
PATH=$REAL
case "$*" in
'apply -f -') cat > "$OUT/applied.yaml" ;;
'create '*) kubectl "$@" --dry-run=client --output=yaml > "$OUT/created.yaml" ;;
'label '*) shift 3; kubectl label --local --filename "$OUT/created.yaml" --output=yaml "$@" > "$OUT/labelled.yaml" ;;
*) exit 2 ;;
esac
`

t.test(
  'the block for the Prometheus operator makes a PrometheusRule of the rules, and labels the dashboard',
  { skip: promtoolIsMissing || missing('kubectl', 'kubernetes-client') },
  async (t) => {
    const OUT = temporaryDirectory(t)
    writeFileSync(path.join(OUT, 'kubectl'), dryKubectl, { mode: 0o755 })
    const { PATH, HOME } = process.env
    const env = { PATH: `${OUT}:${PATH}`, HOME, REAL: PATH, OUT }
    execFileSync('bash', ['-euo', 'pipefail', '-c', forOperator], { env, cwd: projectRoot })
    const made = (name: string) => readFileSync(path.join(OUT, name), 'utf8')
    const { kind, metadata, spec } = parse(made('applied.yaml'))
    t.match({ kind, metadata }, { kind: 'PrometheusRule', metadata: { labels: { release: String } } })
    t.strictSame(spec, parse(read('deploy/monitoring/alerts.yaml')))
    writeFileSync(path.join(OUT, 'rules.yaml'), stringify(spec))
    t.match(
      execFileSync('promtool', ['check', 'rules', 'rules.yaml'], { cwd: OUT, encoding: 'utf8' }),
      'SUCCESS',
    )
    const labelled = parse(made('labelled.yaml'))
    t.match(labelled, { metadata: { name: /./, labels: { grafana_dashboard: '1' } } })
    t.match(forOperator, `label configmap ${labelled.metadata.name} `)
    t.ok(JSON.parse(labelled.data['animal-store.json']).panels.length > 0)
  },
)

t.test('the address of the runbook is absolute, and set in one place', async (t) => {
  t.match(alerts[0]?.annotations.runbook_url, /^https:\/\/[^/]+\//)
  t.equal(read('deploy/monitoring/alerts.yaml').match(/https?:\/\//g)?.length, 1)
})

t.test('the commands of the runbook show causes in the log, and sessions of the database', async (t) => {
  const folder = temporaryDirectory(t)
  const full = 'could not extend file "base/5/1": No space left on device \\ "quota"'
  const lines = ['refused', 'stalled', 'refused', full].map((message) =>
    JSON.stringify({ level: 50, err: { message } }),
  )
  writeFileSync(path.join(folder, 'log'), `${lines.join('\n')}\n${JSON.stringify({ reason: 'overload' })}\n`)
  const docker = `#!/bin/sh\ncase $2 in logs) cat ${folder}/log ;; *) for last; do :; done; echo "$last" ;; esac\n`
  writeFileSync(path.join(folder, 'docker'), docker, { mode: 0o755 })
  const run = (command: string) => {
    const env = { PATH: `${folder}:${process.env.PATH}` }
    return execFileSync('bash', ['-c', `${functions}\n${command}`], { env, encoding: 'utf8' })
  }
  t.equal(run('logs stalled'), `${lines[1]}\n`)
  t.ok(run('causes').includes(` 1 "message":${JSON.stringify(full)}\n`), 'messages are shown to their ends')
  t.match(run('causes'), /^ +2 "message":"refused"\n[\s\S]* 1 "reason":"overload"\n/)
  const sql = await createDatabase(t)
  const sessions = await sql.unsafe(run('activity'))
  t.ok(sessions.some(({ query }) => query.startsWith('select pid, usename')))
  t.ok(sessions.every((each) => 'blocked_by' in each && 'since' in each))
})
