// The hosts' CI calls .ci/run on the image's Node, and the update bot holds back what CONTRIBUTING.md says.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { projectRoot } from '../../src/lib/paths.js'

interface Workflow {
  readonly jobs: {
    readonly check: { readonly container: string; readonly steps: readonly { readonly run?: string }[] }
  }
}

interface Bot {
  readonly packageRules: readonly {
    readonly matchPackageNames: readonly string[]
    readonly enabled?: boolean
  }[]
}

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8')

t.test('each host runs .ci/run on the Node of the image', async (t) => {
  const [, node = ''] = /^FROM (node:\w+-\w+)-slim\b/m.exec(read('Dockerfile')) ?? []
  const { container, steps } = (parse(read('.github/workflows/ci.yml')) as Workflow).jobs.check
  t.strictSame([container, steps.at(-1)?.run], [node, '.ci/run'])
  t.match(parse(read('.gitlab-ci.yml')), { check: { image: node, script: '.ci/run' } })
  t.match(read('.ci/run'), new RegExp(`^versions=.*engines.node.* ${/\d+/.exec(node)?.[0]}"$`, 'm'))
})

t.test('the update bot holds back the majors that CONTRIBUTING.md names', async (t) => {
  const { packageRules } = JSON.parse(read('renovate.json')) as Bot
  const held = packageRules.filter(({ enabled }) => enabled === false)[0]?.matchPackageNames ?? []
  const [, named = ''] = /Held back[^:]*:\n?([\s\S]*?)Renovate/.exec(read('CONTRIBUTING.md')) ?? []
  const names = [...named.matchAll(/`([@\w/*-]+)` \(/g)].map(([, name]) => name)
  t.strictSame([...names, '@types/node'].sort(), held.map((name) => name.replace('**', '*')).toSorted())
})
