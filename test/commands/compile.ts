// The plan that a build compiles from the contract.

import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'
import { copyBuild, copyProjectTo, edit, node, type Outcome } from '../fixtures/copy.js'
import { fixedPlan } from '../fixtures/facts.js'

const contract = 'openapi.yaml'
const plan = 'dist/generated/contract.plan'

// Returns a checkout with a build and a current plan.
function checkout(t: Test): string {
  const copy = copyProjectTo(t, 'project')
  copyBuild(copy)
  return copy
}

const programs = 'node_modules/contract-service/dist/src/commands'
const compile = (copy: string, ...args: string[]) => node(copy, [`${programs}/compile.js`, ...args])
const start = (copy: string) =>
  node(copy, ['dist/src/main.js'], { PORT: '0', DATA_DIR: path.join(copy, '.data') })

// Replaces the links to the packages by copies.
function copyPackages(copy: string): void {
  for (const name of ['engine', 'service']) {
    const installed = path.join(copy, `node_modules/contract-${name}`)
    rmSync(installed)
    for (const part of ['package.json', 'dist/src', 'migrations']) {
      const from = path.join(projectRoot, 'packages', name, part)
      if (existsSync(from)) cpSync(from, path.join(installed, part), { recursive: true })
    }
  }
}

const done: Outcome = { code: 0, stdout: '', stderr: '' }
const advice = 'Run: npm run build'

t.test('a build starts no contract that has changed since, until it is compiled', async (t) => {
  const copy = checkout(t)
  edit(copy, contract, new RegExp(`\\b${fixedPlan.name}:`), 'golden:')
  const reason = `openapi.yaml has changed since. ${advice}\n`
  t.match(await start(copy), {
    code: 1,
    stdout: '',
    stderr: `startup failed: the plan of openapi.yaml cannot be used: ${reason}`,
  })
  t.strictSame(await compile(copy), done)
  t.match(await node(copy, [`${programs}/keys.js`, '--help']), {
    code: 0,
    stdout: /golden: \d+ requests/,
  })
})

t.test('a build starts with no plan of another engine, until the contract is compiled', async (t) => {
  const copy = checkout(t)
  copyPackages(copy)
  edit(copy, 'node_modules/contract-engine/dist/src/compile/read.js', /$/, '\n// changed')
  const reason = `another version of the engine made it. ${advice}\n`
  t.match(await start(copy), {
    code: 1,
    stderr: `startup failed: the plan of openapi.yaml cannot be used: ${reason}`,
  })
  t.strictSame(await compile(copy), done)
  t.match(await node(copy, [`${programs}/keys.js`, '--help']), { stdout: `${fixedPlan.name}: ` })
})

t.test('the plan of another contract is written where it is asked for', async (t) => {
  const copy = checkout(t)
  cpSync(path.join(copy, contract), path.join(copy, 'other.yaml'))
  rmSync(path.join(copy, plan))
  t.strictSame(await compile(copy, 'other.yaml', 'dist/generated/other.plan'), done)
  t.ok(statSync(path.join(copy, 'dist/generated/other.plan')).size > 0)
  t.throws(() => statSync(path.join(copy, plan)), { code: 'ENOENT' })
})

t.test('a build without a plan does not start, and says how to make one', async (t) => {
  const copy = checkout(t)
  rmSync(path.join(copy, plan))
  t.match(await start(copy), { code: 1, stderr: `startup failed: cannot read ${plan}. ${advice}\n` })
})

t.test('a plan is written again only if it would be another', async (t) => {
  const copy = checkout(t)
  t.strictSame(await compile(copy), done)
  const written = () => statSync(path.join(copy, plan)).ino
  const before = written()
  t.strictSame(await compile(copy), done)
  t.equal(written(), before)
  copyPackages(copy)
  edit(copy, 'node_modules/contract-service/dist/src/auth/plans.js', /$/, '\n// changed') // reads extensions
  t.strictSame(await compile(copy), done)
  t.not(written(), before)
})

t.test('a contract that cannot be used leaves the plan as it is', async (t) => {
  const copy = checkout(t)
  const before = readFileSync(path.join(copy, plan))
  edit(copy, contract, 'openapi: 3.1.0', 'openapi: 2.0.0')
  t.match(await compile(copy), { code: 1, stdout: '', stderr: /^openapi\.yaml:\d+:1: openapi must be .*\n$/ })
  t.strictSame(readFileSync(path.join(copy, plan)), before)
})

t.test('an installation, which has the contract in one file, starts with the plan of that', async (t) => {
  const copy = checkout(t)
  rmSync(path.join(copy, contract))
  const keys = () => node(copy, [`${programs}/keys.js`, '--help'])
  t.match(await keys(), { stdout: `${fixedPlan.name}: ` }, 'that of the contract, if that is one file')
  edit(copy, 'generated/openapi.yaml', new RegExp(`\\b${fixedPlan.name}:`), 'golden:')
  t.match(await start(copy), { stderr: `generated/openapi.yaml has changed since. ${advice}\n` })
  t.strictSame(await compile(copy, 'generated/openapi.yaml'), done)
  t.match(await keys(), { stdout: 'golden: ' })
})

t.test('a fault that a start finds has its line in the contract', async (t) => {
  const copy = checkout(t)
  edit(copy, contract, 'scheme: bearer', 'scheme: digest')
  t.strictSame(await compile(copy), done)
  const stderr = /^startup failed: openapi\.yaml:\d+:\d+: .* header WWW-Authenticate must match pattern/
  t.match(await start(copy), { code: 1, stderr })
})
