// contract-diff as its users get it: the tarballs, installed by npm in a folder without a server, where the
// blocks of its page run as printed; and what its manifest declares.

import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'
import { parse } from 'yaml'
import { importedPackages } from '../../fixtures/imported-packages.js'
import { fencesOf } from '../../fixtures/pages.js'
import { pack, startRegistry } from '../../fixtures/registry.js'
import { printedBy } from '../../fixtures/type-compilers.js'

const run = promisify(execFile)

const built = path.join(projectRoot, 'packages/diff')
const page = readFileSync(path.join(built, 'README.md'), 'utf8')
const blocks = fencesOf(page).map(({ text }) => text)
const [install = '', old = '', compare = '', shown = '', workflow = '', pipeline = '', json = ''] = blocks

// The contract of the page, committed as GitHub's checkout has it.
const branch = `cp old.yaml openapi.yaml
git init --quiet && git add openapi.yaml
git -c user.name=a -c user.email=a@a.example commit --quiet --message=old
git update-ref refs/remotes/origin/main HEAD`

const folder = temporaryDirectory(t, { 'package.json': '{ "type": "module" }', 'old.yaml': old })
const env: Record<string, string> = {
  ...{ PATH: process.env.PATH ?? '', HOME: folder, NO_COLOR: '1' },
  ...{ npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' },
  ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
}

t.before(async () => {
  for (const name of ['diff', 'engine']) {
    const tarball = await pack(t, path.join(projectRoot, 'packages', name))
    cpSync(tarball, path.join(folder, path.basename(tarball)))
  }
  env.npm_config_registry = await startRegistry(t)
  await run('bash', ['-ec', install], { cwd: folder, env })
  await run('bash', ['-ec', branch], { cwd: folder, env })
})

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command in the folder, and waits for its exit. */
function shell(command: string): Promise<Outcome> {
  return run('bash', ['-ec', command], { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error) => error,
  )
}

t.test('no server, log or compiler is installed with it', async (t) => {
  const isInstalled = (name: string) => existsSync(path.join(folder, 'node_modules', name))
  t.ok(['contract-diff', 'contract-engine', 'yaml'].every(isInstalled))
  const others = ['fastify', 'pino', 'typescript', 'recheck', '@scalar/fastify-api-reference', 'tap']
  t.strictSame(others.filter(isInstalled), [])
})

t.test('it prints what its page shows, and exits as it says', async (t) => {
  const printed = await shell(compare)
  t.match(printed, { code: 1, stderr: '' })
  t.equal(printed.stdout, shown)
  const none = 'No changes since old.yaml: no new version is required.\n'
  const rows: readonly [args: string, outcome: object][] = [
    ['old.yaml old.yaml', { code: 0, stdout: none, stderr: '' }],
    [
      'old.yaml none.yaml',
      { code: 2, stdout: '', stderr: /^diff: none\.yaml: cannot read the file none\.yaml\n$/ },
    ],
    [
      '--naem old.yaml new.yaml',
      { code: 2, stdout: '', stderr: /^diff: Unknown option '--naem'.*; see --help\n$/ },
    ],
    ['--help', { code: 0, stdout: /^Usage: contract-diff /, stderr: '' }],
  ]
  for (const [args, outcome] of rows) t.match(await shell(`npx contract-diff ${args}`), outcome, args)
  const told = await shell('npx contract-diff --json old.yaml new.yaml')
  t.match(told, { code: 1, stderr: '' })
  t.strictSame(JSON.parse(told.stdout), JSON.parse(json))
})

const edited = old.replace('maximum: 100', 'maximum: 50')

/** Runs a command on a branch whose base has the contract of the page, and whose working tree this one. */
function runWith(contract: string, command: string): Promise<Outcome> {
  writeFileSync(path.join(folder, 'openapi.yaml'), contract)
  return shell(command)
}

t.test('its workflow annotates a pull request, and passes once the version is enough', async (t) => {
  const { steps } = parse(workflow).jobs.contract as { readonly steps: readonly { readonly run?: string }[] }
  const step = steps.at(-1)?.run?.replace(/\$\{\{ github\.base_ref \}\}/, 'main') ?? ''
  const commands = async (text: string) => {
    const { code, stdout } = await runWith(text, step)
    return { code, levels: [...stdout.matchAll(/^::(\w+) file=openapi\.yaml,/gm)].map(([, level]) => level) }
  }
  t.strictSame(await commands(edited), { code: 1, levels: ['error', 'error'] })
  t.strictSame(await commands(edited.replace('1.0.0', '2.0.0')), { code: 0, levels: ['warning'] })
})

t.test('its pipeline of GitLab fails, and passes once the version is enough', async (t) => {
  const { script, rules } = parse(pipeline).contract as { readonly script: readonly string[]; rules: unknown }
  t.strictSame(rules, [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }])
  const command = `CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse HEAD)\n${script.at(-1)}`
  t.match(await runWith(edited, command), { code: 1, stdout: /^breaking {2}GET \/toys {2}query\.limit: / })
  t.match(await runWith(edited.replace('1.0.0', '2.0.0'), command), {
    code: 0,
    stdout: /2\.0\.0 is enough\.$/m,
  })
})

t.test('its door compiles in TypeScript', async (t) => {
  const text = `import { diffContracts, lineOf, type Node } from 'contract-diff'
const before: Node = { openapi: '3.1.0' }
export const lines: string[] = diffContracts(before, {}).map((change) => lineOf(change))
// @ts-expect-error: two documents are compared
diffContracts(before)
`
  writeFileSync(path.join(folder, 'door.ts'), text)
  const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext']
  t.equal(await printedBy('7', folder, [...options, '--skipLibCheck', 'door.ts']), '')
})

t.test('it declares what it imports, in the versions that the tests use', async (t) => {
  const read = (place: string) =>
    JSON.parse(readFileSync(path.join(projectRoot, place, 'package.json'), 'utf8'))
  const [manifest, project] = [read('packages/diff'), read('.')]
  const installed = path.join(folder, 'node_modules/contract-diff')
  t.strictSame(importedPackages(installed), Object.keys(manifest.dependencies).sort())
  const { version, license, engines } = project
  t.match(manifest, { version, license, engines })
  t.match(manifest.dependencies, {
    'contract-engine': `^${version}`,
    'lossless-json': project.dependencies['lossless-json'],
  })
  t.ok(existsSync(path.join(installed, 'README.md')))
})
