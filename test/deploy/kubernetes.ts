// The manifests of deploy/kubernetes/ match the service, its image and each other.

import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { startProcess } from 'contract-service/fixtures/process'
import { startDatabaseProxy } from 'contract-service/fixtures/proxy'
import { readConfig } from 'contract-service/internal/config'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { until } from 'contract-testing/until'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { blockOf } from '../fixtures/pages.js'
import { missing } from '../fixtures/programs.js'
import { createDatabase, send } from '../fixtures/service.js'

type Labels = Readonly<Record<string, string>>
type Security = Readonly<Record<string, unknown>>

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Container {
  readonly image: string
  readonly args?: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env: readonly Variable[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: Security
  readonly resources: { readonly requests: Resources; readonly limits: Resources }
}

interface Resources {
  readonly memory: string
}

interface Pod {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly enableServiceLinks: boolean
    readonly automountServiceAccountToken: boolean
    readonly terminationGracePeriodSeconds: number
    readonly securityContext: Security
    readonly topologySpreadConstraints: readonly { readonly labelSelector: Selector }[]
    readonly containers: readonly [Container]
  }
}

interface Selector {
  readonly matchLabels: Labels
}

interface Manifest<Spec> {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels }
  readonly spec: Spec
}

interface Deployment {
  readonly replicas?: number
  readonly minReadySeconds: number
  readonly selector: Selector
  readonly strategy: {
    readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number }
  }
  readonly template: Pod
}

interface Service {
  readonly selector: Labels
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[]
}

interface Autoscaler {
  readonly minReplicas: number
  readonly maxReplicas: number
  readonly scaleTargetRef: { readonly kind: string; readonly name: string }
}

interface Policy {
  readonly podSelector: Selector
  readonly egress: readonly { readonly ports: readonly { readonly port: number }[] }[]
  readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[]
}

interface Ingress {
  readonly rules: readonly {
    readonly http: {
      readonly paths: readonly {
        readonly backend: {
          readonly service: { readonly name: string; readonly port: { readonly name: string } }
        }
      }[]
    }
  }[]
}

interface Route {
  readonly rules: readonly {
    readonly backendRefs: readonly { readonly name: string; readonly port: number }[]
  }[]
}

interface Monitor {
  readonly selector: Selector
  readonly endpoints: readonly { readonly port: string }[]
}

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')

const folder = 'deploy/kubernetes'
const files = readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.yaml') && !name.endsWith('kustomization.yaml'),
)
const manifests = files
  .flatMap((name) => parseAllDocuments(read(`${folder}/${name}`)))
  .map((document) => document.toJS() as Manifest<unknown>)

function ofKind<Spec>(kind: string): readonly Manifest<Spec>[] {
  return manifests.filter((each) => each.kind === kind) as Manifest<Spec>[]
}

function only<Spec>(kind: string): Manifest<Spec> {
  const [found, ...others] = ofKind<Spec>(kind)
  if (found === undefined || others.length > 0) throw new Error(`one ${kind} is expected`)
  return found
}

const deployment = only<Deployment>('Deployment')
const job = only<{ readonly template: Pod }>('Job')
const pods = [deployment.spec.template, job.spec.template]
const [container] = deployment.spec.template.spec.containers
const dockerfile = read('Dockerfile')

// Prints its arguments, and exits as kubectl does for a Job that has reached a condition, or none.
const recorded = `#!/bin/sh
echo "$@"
[ "$REACHED" = forbidden ] && exit 1
[ "$1" != wait ] || case "$*" in *"=$REACHED "*) ;; *) exit 1 ;; esac
`

const literal = Object.fromEntries(
  container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
)
const config = readConfig(literal)

const matches = ({ matchLabels }: Selector, labels: Labels) =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value)

t.test('the kustomization lists every manifest', async (t) => {
  const text = read(`${folder}/kustomization.yaml`)
  const { images } = parse(text) as {
    images: readonly { readonly name: string; readonly newName?: string }[]
  }
  for (const name of readdirSync(path.join(projectRoot, folder)))
    if (name !== 'kustomization.yaml') t.match(text, new RegExp(`^ +(# )?- ${name}$`, 'm'))
  for (const name of files.filter((name) => name.includes('/')))
    t.ok(
      read(`${folder}/${path.dirname(name)}/kustomization.yaml`).includes(`- ${path.basename(name)}\n`),
      name,
    )
  for (const { spec } of pods) t.equal(spec.containers[0].image, images[0]?.name)
  t.equal(images[0]?.newName, undefined, 'or an overlay would have to know it')
  for (const { metadata } of manifests) t.ok(metadata.labels['app.kubernetes.io/name'], metadata.name)
})

const kubectlIsMissing = missing('kubectl', 'kubernetes-client')

t.test('an overlay names the image as the kustomization does', { skip: kubectlIsMissing }, async (t) => {
  const overlay = temporaryDirectory(t)
  const images = [
    { name: job.spec.template.spec.containers[0].image, newName: 'own.example/animals', newTag: '2' },
  ]
  const resources = [path.relative(realpathSync(overlay), path.join(projectRoot, folder))]
  writeFileSync(path.join(overlay, 'kustomization.yaml'), JSON.stringify({ resources, images }))
  const args = ['kustomize', '--load-restrictor', 'LoadRestrictionsNone', overlay]
  const { stdout } = await promisify(execFile)('kubectl', args)
  t.strictSame(stdout.match(/image: .*/g), Array(2).fill('image: own.example/animals:2'))
})

const hook = {
  'argocd.argoproj.io/hook': 'PreSync',
  'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
  'kustomize.toolkit.fluxcd.io/force': 'enabled',
}

t.test(
  'an overlay for GitOps makes the migrations a hook, and the monitor one that is selected',
  {
    skip: kubectlIsMissing,
  },
  async (t) => {
    const { stdout } = await promisify(execFile)('kubectl', [
      'kustomize',
      path.join(projectRoot, 'deploy/gitops'),
    ])
    const built = parseAllDocuments(stdout).map((each) => each.toJS() as Manifest<unknown>)
    const [made, others] = [built.filter(isMigrations), built.filter((each) => !isMigrations(each))]
    t.match(made, [{ kind: 'Job', metadata: { name: job.metadata.name, annotations: hook } }])
    t.equal(made.length, 1)
    for (const { kind, metadata } of others) {
      t.notOk('annotations' in metadata, `${kind} ${metadata.name} is synced as usual`)
      t.equal(metadata.labels.release, kind === 'ServiceMonitor' ? 'kube-prometheus-stack' : undefined, kind)
    }
    const unlike = ['Ingress', 'HTTPRoute'] // one of these, which a team chooses
    const expected = manifests.filter(({ kind }) => !unlike.includes(kind)).map(({ kind }) => kind)
    t.strictSame(built.map(({ kind }) => kind).sort(), expected.sort())
    t.equal(new Set(built.map(({ metadata }) => metadata.labels['app.kubernetes.io/part-of'])).size, 1)
  },
)

function isMigrations({ kind }: Manifest<unknown>): boolean {
  return kind === 'Job'
}

t.test('every variable that a container sets is one that it reads', async (t) => {
  const known = (file: string): readonly string[] => read(file).match(/[A-Z][A-Z_]+/g) ?? []
  const service = known('packages/service/src/config.ts')
  const migrate = known('packages/service/src/commands/migrate/migrate.ts')
  for (const { name } of container.env) t.ok(service.includes(name), name)
  for (const { name } of job.spec.template.spec.containers[0].env) t.ok(migrate.includes(name), name)
  t.strictSame(config.misspelt, [])
})

t.test('the service does not get the owner’s password', async (t) => {
  const secrets = (pod: Pod) => pod.spec.containers[0].env.map(({ valueFrom }) => valueFrom?.secretKeyRef)
  const owner = job.spec.template.spec.containers[0].env.find(({ name }) => name === 'DATABASE_URL')
  const names = secrets(deployment.spec.template).flatMap((each) => each?.name ?? [])
  t.ok(names.length > 0)
  t.notOk(names.includes(owner?.valueFrom?.secretKeyRef.name ?? ''))
  t.ok(
    secrets(job.spec.template).some((each) => names.includes(each?.name ?? '')),
    'the migrations create the service’s role',
  )
  for (const pod of pods)
    for (const { name, value } of pod.spec.containers[0].env)
      if (/_URL$|PASSWORD$/.test(name) && name !== 'PUBLIC_URL')
        t.equal(value, undefined, `${name} is from a secret`)
})

t.test('named ports are the ports of the image', async (t) => {
  const ports = new Map(container.ports?.map(({ name, containerPort }) => [name, containerPort]))
  t.strictSame(
    [...ports],
    [
      ['http', Number(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1])],
      ['metrics', config.metricsPort],
    ],
  )
  t.equal(ports.get('http'), config.port)
  const named = [
    ...ofKind<Service>('Service').flatMap(({ spec }) => spec.ports.map(({ targetPort }) => targetPort)),
    ...ofKind<Policy>('NetworkPolicy')
      .flatMap(({ spec }) => spec.ingress ?? [])
      .flatMap(({ ports }) => ports.map(({ port }) => port)),
    ...[container.startupProbe, container.livenessProbe, container.readinessProbe].map(
      ({ httpGet }) => httpGet.port,
    ),
  ]
  t.ok(named.length >= 7)
  for (const name of named) t.ok(ports.has(name), name)
})

t.test('selectors match the service’s pods, and not those of the migrations', async (t) => {
  const [service, migrations] = pods.map(({ metadata }) => metadata.labels) as [Labels, Labels]
  const selectors: readonly [name: string, selector: Selector][] = [
    ['Deployment', deployment.spec.selector],
    ...deployment.spec.template.spec.topologySpreadConstraints.map(
      ({ labelSelector }): [string, Selector] => ['topology', labelSelector],
    ),
    ['PodDisruptionBudget', only<{ readonly selector: Selector }>('PodDisruptionBudget').spec.selector],
    ...ofKind<Service>('Service').map(({ metadata, spec }): [string, Selector] => [
      metadata.name,
      { matchLabels: spec.selector },
    ]),
  ]
  for (const [name, selector] of selectors) {
    t.ok(matches(selector, service), name)
    t.notOk(matches(selector, migrations), name)
  }
  const policies = ofKind<Policy>('NetworkPolicy').map(({ spec }) => spec.podSelector)
  for (const labels of [service, migrations])
    t.equal(policies.filter((each) => matches(each, labels)).length, 1, 'one policy for each')
  const { scaleTargetRef } = only<Autoscaler>('HorizontalPodAutoscaler').spec
  t.match(scaleTargetRef, { kind: 'Deployment', name: deployment.metadata.name })
  const monitor = only<Monitor>('ServiceMonitor').spec
  const monitored = ofKind<Service>('Service').filter(({ metadata }) =>
    matches(monitor.selector, metadata.labels),
  )
  t.strictSame(
    monitored.flatMap(({ spec }) => spec.ports.map(({ name }) => name)),
    monitor.endpoints.map(({ port }) => port),
  )
})

t.test('probes and grace period allow for startup and graceful shutdown', async (t) => {
  const { terminationGracePeriodSeconds: graceSeconds } = deployment.spec.template.spec
  const forcedMs = Number(
    /forcedTimeoutMs = ([\d_]+)/
      .exec(read('packages/service/src/process/start.ts'))?.[1]
      ?.replaceAll('_', ''),
  )
  t.ok(graceSeconds * 1000 >= config.shutdownDelayMs + config.shutdownTimeoutMs + forcedMs)
  t.ok(config.shutdownDelayMs > 0)
  const { periodSeconds, failureThreshold } = container.startupProbe
  t.ok(periodSeconds * failureThreshold * 1000 > config.startTimeoutMs)
})

t.test('a rollout opens no more connections than PostgreSQL allows by default', async (t) => {
  const { minReplicas, maxReplicas } = only<Autoscaler>('HorizontalPodAutoscaler').spec
  const { minReadySeconds, strategy, template, replicas } = deployment.spec
  const { maxSurge, maxUnavailable } = strategy.rollingUpdate
  t.ok(minReadySeconds > template.spec.terminationGracePeriodSeconds, 'one pod at most is stopping')
  const startConnections = Number(
    /commandConnectionsMax = (\d+)/.exec(read('packages/service/src/database/connect.ts'))?.[1],
  )
  const perPod = config.databaseConnections + startConnections
  const [postgresMax, superuserReserved] = [100, 3]
  t.ok((maxReplicas + maxSurge + 1) * perPod + startConnections <= postgresMax - superuserReserved)
  t.equal(maxUnavailable, 0)
  t.ok(minReplicas >= 2)
  t.equal(replicas, undefined, 'or each apply would reset the autoscaler’s number')
})

t.test('a pod requests as much memory as an instance was measured to use', async (t) => {
  const [, capacity = ''] = /^## Capacity\n([\s\S]*?)^## /m.exec(read('docs/deploying.md')) ?? []
  const measured = [...capacity.matchAll(/(\d+) MiB/g)].map(([, figure]) => Number(figure))
  t.ok(measured.length >= 7)
  const { requests, limits } = container.resources
  t.match(requests.memory, /^\d+Mi$/)
  t.ok(Number.parseInt(requests.memory, 10) >= Math.max(...measured))
  t.ok(Number.parseInt(limits.memory, 10) >= Number.parseInt(requests.memory, 10))
})

// Node limits its heap to half of a container's memory.
t.test('what the bodies in flight may be parsed to fits into half of a pod’s memory', async (t) => {
  const times = Number(/at\s+most\s+(\d+)\s+times\s+\(a\s+list/.exec(read('docs/deploying.md'))?.[1])
  const bytes = Number(container.env.find(({ name }) => name === 'BODIES_MAX_BYTES')?.value)
  const half = (Number.parseInt(container.resources.limits.memory, 10) * 2 ** 20) / 2
  t.ok(times * bytes < half, `${times} times ${bytes}`)
})

t.test('pods run with least privilege', async (t) => {
  for (const { spec } of pods) {
    t.match(spec, { enableServiceLinks: false, automountServiceAccountToken: false })
    t.match(spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    t.strictSame(spec.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
})

t.test('the ingress and the route lead to the Service', async (t) => {
  const service = ofKind<Service>('Service').find(({ metadata }) => metadata.name === 'animal-store-service')
  const [{ name: portName, port } = {}] = service?.spec.ports ?? []
  const backends = only<Ingress>('Ingress').spec.rules.flatMap(({ http }) =>
    http.paths.map(({ backend }) => backend.service),
  )
  t.strictSame(backends, [{ name: service?.metadata.name, port: { name: portName } }])
  const routed = only<Route>('HTTPRoute').spec.rules.flatMap(({ backendRefs }) => backendRefs)
  t.strictSame(routed, [{ name: service?.metadata.name, port }])
})

t.test(
  'pods reach every neighbour at its usual port, and trust an ingress of any private range',
  async (t) => {
    const [service] = ofKind<Policy>('NetworkPolicy')
    const ports = service?.spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port)) ?? []
    for (const port of [53, 5432, 6432, 6379, 26379, 4318]) t.ok(ports.includes(port), String(port))
    t.strictSame(config.trustProxy, ['uniquelocal', '100.64.0.0/10'])
  },
)

const createSecrets = blockOf('docs/deploying.md', 'kubectl create secret')
const migrations = blockOf('docs/deploying.md', 'migrate() {')

// Runs a block with another program in kubectl's place, and returns what it prints.
async function runWith(t: Test, kubectl: string, block: string, REACHED = ''): Promise<string> {
  const folder = temporaryDirectory(t)
  writeFileSync(path.join(folder, 'kubectl'), kubectl, { mode: 0o755 })
  const { PATH, HOME } = process.env
  const env = { PATH: `${folder}:${PATH}`, HOME, REAL: PATH, REACHED }
  return (await promisify(execFile)('sh', ['-c', block], { env, cwd: projectRoot })).stdout
}

interface Secret extends Manifest<unknown> {
  readonly data: Readonly<Record<string, string>>
}

t.test(
  'the secrets of the docs have what the pods read, and the service’s is without the owner’s',
  { skip: kubectlIsMissing },
  async (t) => {
    const dry = '#!/bin/sh\nPATH=$REAL kubectl "$@" --dry-run=client --output=yaml || exit; echo ---\n'
    const printed = await runWith(t, dry, `set -e\n${createSecrets}`)
    const secrets = parseAllDocuments(printed).flatMap((each) => (each.toJS() as Secret | null) ?? [])
    const keys = secrets.flatMap(({ metadata, data }) =>
      Object.keys(data).map((key) => `${metadata.name} ${key}`),
    )
    const read = pods.flatMap(({ spec }) =>
      spec.containers[0].env.flatMap(({ valueFrom }) => valueFrom ?? []),
    )
    const names = read.map(({ secretKeyRef: { name, key } }) => `${name} ${key}`)
    t.strictSame(keys.sort(), [...new Set(names)].sort())
    for (const { data } of secrets)
      t.match(new URL(Buffer.from(data.DATABASE_URL ?? '', 'base64').toString()), { password: '' })
  },
)

t.test('kubectl knows each command of the docs', { skip: kubectlIsMissing }, async (t) => {
  const calls = (await runWith(t, recorded, `${migrations.trim()} || true`, 'failed')).trim().split('\n')
  t.ok(calls.length >= 5)
  for (const call of new Set(calls)) {
    const args = [...call.split(' '), '--server=http://127.0.0.1:1'] // where nobody listens
    const { stderr } = spawnSync('kubectl', args, { cwd: projectRoot, encoding: 'utf8' })
    t.match(stderr, /refused/, `${call} fails for want of a cluster alone`)
  }
})

t.test('the selector of the docs picks the migrations, and not the Deployment', async (t) => {
  const [, label = '', value] = /--selector (\S+)=(\S+)/.exec(migrations) ?? []
  const labelled = [job, deployment].map(({ metadata }) => metadata.labels[label])
  t.strictSame([labelled[0] === value, labelled[1] === value], [true, false])
})

t.test('the commands of the docs apply the Deployment only after the migrations', async (t) => {
  const kubectl = async (reached: string) =>
    (await runWith(t, recorded, `${migrations.trim()} || true`, reached)).trim().split('\n')
  const apply = 'apply -k deploy/kubernetes'
  t.equal((await kubectl('complete')).at(-1), apply)
  for (const reached of ['failed', 'neither', 'forbidden']) {
    const calls = await kubectl(reached)
    t.notOk(calls.includes(apply), reached)
    t.ok(calls.length > 0 && calls.length < 130, 'and ends')
    if (reached === 'failed')
      t.strictSame([calls.length, calls.at(-1)], [5, 'logs job/animal-store-migrations'])
  }
})

t.test('the commands of the image exist, that of the migrations too', async (t) => {
  const commands = /for command in ([a-z/ ]+);/.exec(dockerfile)?.[1]?.split(' ') ?? []
  for (const command of commands)
    t.ok(existsSync(path.join(projectRoot, `dist/service/commands/${command}.js`)), command)
  t.ok(commands.includes(job.spec.template.spec.containers[0].args?.[0] ?? ''))
})

t.test('a service starts with the environment of the Deployment, and responds to the probes', async (t) => {
  const { url } = await startDatabaseProxy(t, await createDatabase(t))
  const own = { DATABASE_URL: url, PORT: '0', METRICS_PORT: '0', SHUTDOWN_DELAY_MS: '0' }
  const service = await startProcess(t, { ...literal, ...own })
  const { port } = await service.logged('metrics server listening')
  const { startupProbe, livenessProbe, readinessProbe } = container
  for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe])
    await until(async () => (await send(`http://127.0.0.1:${port}${httpGet.path}`)).status === 200)
  t.match(await service.stop(), { code: 0 })
})
