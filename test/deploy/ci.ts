// The hosts' CI calls .ci/run on the image's Node, what it uses is pinned, and the update bot keeps the pins
// and holds back what CONTRIBUTING.md says.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { parse } from 'yaml'
import { composed } from '../fixtures/compose.js'

interface Workflow {
  readonly on: { readonly schedule?: readonly { readonly cron: string }[] }
  readonly jobs: {
    readonly check: { readonly container: string; readonly steps: readonly { readonly run?: string }[] }
  }
}

interface Job {
  readonly image?: string
  readonly extends?: string
  readonly script: string
  readonly rules: readonly { readonly if: string; readonly when?: string }[]
}

interface Bot {
  readonly extends: readonly string[]
  readonly packageRules: readonly {
    readonly matchPackageNames?: readonly string[]
    readonly matchDepNames?: readonly string[]
    readonly enabled?: boolean
  }[]
}

interface Locked {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>
}

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')
const workflows = readdirSync(path.join(projectRoot, '.github/workflows')).map(
  (name) => `.github/workflows/${name}`,
)
const workflow = parse(read('.github/workflows/ci.yml')) as Workflow
const gitlab = parse(read('.gitlab-ci.yml')) as { readonly check: Job; readonly nightly: Job }
const bot = JSON.parse(read('renovate.json')) as Bot
const onlyScheduled = '$CI_PIPELINE_SOURCE == "schedule"'

t.test('each host runs .ci/run on the Node of the image', async (t) => {
  const [, tag = ''] = /^FROM (node:[\w.]+-\w+)-slim@/m.exec(read('Dockerfile')) ?? []
  const { container, steps } = workflow.jobs.check
  t.equal(container.split('@')[0], tag)
  t.match(steps.at(-1)?.run, /^\.ci\/run( |$)/)
  t.match(gitlab.check, { image: container, script: '.ci/run' })
  const { packages } = JSON.parse(read('.ci/package-lock.json')) as Locked
  const { engines } = JSON.parse(read('package.json')) as { readonly engines: { readonly node: string } }
  const versionOf = (name: string) => packages[`node_modules/${name}`]?.version
  t.equal(`>=${versionOf('node-oldest')}`, engines.node)
  t.equal(versionOf('node-newest')?.split('.')[0], /\d+/.exec(tag)?.[0])
})

t.test('each host runs more at night, and .ci/run knows how', async (t) => {
  t.match(workflow.on.schedule, [{ cron: /^\d+ \d+ \* \* \*$/ }])
  t.match(workflow.jobs.check.steps.at(-1)?.run, /github\.event_name == 'schedule' && '--nightly'/)
  t.match(gitlab.nightly, { extends: 'check', script: '.ci/run --nightly', rules: [{ if: onlyScheduled }] })
  t.match(gitlab.check.rules[0], { if: onlyScheduled, when: 'never' })
  const script = read('.ci/run')
  for (const command of ['fuzz', 'faults']) t.match(script, `npm run --silent ${command}`)
  for (const command of ['test:all', 'test:nightly']) t.match(script, `run_tests ${command}`)
  const wrong = spawnSync(path.join(projectRoot, '.ci/run'), ['--nightlly'], { encoding: 'utf8' })
  t.match(wrong, { status: 2, stderr: 'Usage: .ci/run [--nightly]\n', stdout: '' })
})

t.test('images are pinned by digest, and actions by commit', async (t) => {
  const stages = [...read('Dockerfile').matchAll(/^FROM (\S+)(?: AS (\w+))?$/gm)]
  const own = new Set(stages.map(([, , name]) => name))
  const { service, migrations, ...others } = composed.services
  const images = [
    ...stages.flatMap(([, image]) => (own.has(image) ? [] : [image])),
    ...Object.values(others).map(({ image }) => image),
    workflow.jobs.check.container,
    gitlab.check.image,
  ]
  t.ok(images.length >= 9)
  for (const image of images) t.match(image, /^[\w/]+:v?\d+\.\d+\.?[\w.-]*@sha256:[0-9a-f]{64}$/)
  const actions = workflows.flatMap((file) => read(file).match(/uses:.*/g) ?? [])
  t.ok(actions.length > 0)
  for (const action of actions) t.match(action, /^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, action)
})

t.test('.ci/run installs by lock and by hash', async (t) => {
  const script = read('.ci/run')
  t.notMatch(script, /npm (install|i|exec)\b|npx|\buvx?\b/)
  const installs = script.match(/pip" install .*/g) ?? []
  t.equal(installs.length, 1)
  const files = [...(installs[0]?.matchAll(/-r (\S+)/g) ?? [])].map(([, file = '']) => file)
  t.match(installs[0], '--require-hashes')
  for (const file of files) {
    const requirements = read(file)
      .split(/\n(?=\w)/)
      .slice(1)
    t.ok(requirements.length > 5, file)
    for (const each of requirements)
      t.match(each, /^[\w.-]+(\[\w+\])?==\S+ .*\\\n +--hash=sha256:[0-9a-f]{64}/, file)
    for (const [name = ''] of read(file.replace('.txt', '.in')).matchAll(/^\w.*==.*$/gm))
      t.ok(
        requirements.some((each) => each.startsWith(`${name} `)),
        `${file} is compiled from ${name}`,
      )
  }
  const { packages } = JSON.parse(read('.ci/package-lock.json')) as Locked
  for (const [name, { integrity }] of Object.entries(packages))
    if (name !== '') t.match(integrity, /^sha512-/, name)
})

t.test('the update bot keeps the pins', async (t) => {
  for (const preset of ['docker:pinDigests', 'helpers:pinGitHubActionDigests'])
    t.ok(bot.extends.includes(preset), preset)
})

t.test('the update bot holds back the majors that CONTRIBUTING.md names', async (t) => {
  const held = bot.packageRules.find(
    ({ enabled, matchPackageNames }) => enabled === false && matchPackageNames,
  )
  const [, named = ''] = /Held back[^:]*:\n?([\s\S]*?)Renovate/.exec(read('CONTRIBUTING.md')) ?? []
  const names = [...named.matchAll(/`([@\w/*-]+)`\s\(/g)].map(([, name]) => name)
  const expected = held?.matchPackageNames?.map((name) => name.replace('**', '*')).toSorted()
  t.strictSame([...names, '@types/node'].sort(), expected)
})
