import { execFile } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from 'contract-service/fixtures/directory'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t from 'tap'

const script = path.join(projectRoot, 'scripts/check-setup.cjs')

const projectParts = 'packages/service/project' // the scripts run its programs

// Runs the script as if under that version of Node.
async function check(version: string): Promise<{ code: number; stderr: string }> {
  const pretend = `Object.defineProperty(process, 'version', { value: '${version}' })`
  const args = ['-e', `${pretend}; require(${JSON.stringify(script)})`]
  return promisify(execFile)(process.execPath, args, { env: {} }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error) => error,
  )
}

for (const version of ['v0.12.18', 'v12.22.12', 'v18.20.4', 'v20.9.0', 'v20.18.3']) {
  t.test(`Node ${version} is rejected with the required version`, async (t) => {
    const message = new RegExp(`^Node 20\\.19\\.0 or newer is required; this is ${version}\\.\nInstall`)
    t.match(await check(version), { code: 1, stderr: message })
  })
}

t.test('without dependencies, each command says to run npm ci', async (t) => {
  const manifest = readFileSync(path.join(projectRoot, 'package.json'), 'utf8')
  const folder = temporaryDirectory(t, { 'package.json': manifest })
  for (const file of ['check-setup.cjs', 'build-packages.cjs', 'build-server.cjs'])
    cpSync(path.join(path.dirname(script), file), path.join(folder, 'scripts', file))
  cpSync(path.join(projectRoot, projectParts), path.join(folder, projectParts), { recursive: true })
  const run = promisify(execFile)('npm', ['run', '--silent', 'keys'], { cwd: folder })
  await t.rejects(run, { code: 1, stderr: 'The dependencies are not installed. Run: npm ci\n' })
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> }
  for (const name of [
    'adopt',
    'contract:diff',
    'dev',
    'generate',
    'keys',
    'migrate',
    'seed',
    'start',
    'test',
  ])
    if (scripts[name]) t.match(scripts[`pre${name}`], /build-(packages|server)/, name)
})

t.test('programs replace the shell of npm, which passes no signal on', async (t) => {
  const { scripts } = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8'))
  for (const [name, text] of Object.entries<string>(scripts))
    t.notMatch(text.split(' && ').at(-1), /^(?:node (?!scripts\/build-packages)|tsx |tap)/, name)
})

t.test('without the compiler, a command that needs it says how to install it', async (t) => {
  const installed = { fastify: { 'package.json': '{}' } }
  for (const [name, option, packages] of [
    ['development', 'dev', installed],
    ['optional', 'optional', { ...installed, '@typescript': { native: { 'package.json': '{}' } } }],
  ] as const) {
    const folder = temporaryDirectory(t, {
      'package.json': '{"engines":{"node":">=20.19.0"}}',
      node_modules: packages,
      scripts: { 'check-setup.cjs': readFileSync(script, 'utf8') },
    })
    cpSync(path.join(projectRoot, projectParts), path.join(folder, projectParts), { recursive: true })
    await t.rejects(promisify(execFile)(process.execPath, [path.join(folder, 'scripts/check-setup.cjs')]), {
      code: 1,
      stderr: `The ${name} dependencies are not installed. Run: npm ci --include=${option}\n`,
    })
  }
})

for (const version of ['v20.19.0', 'v20.20.2', 'v22.0.0', 'v24.1.0']) {
  t.test(`Node ${version} is accepted`, async (t) =>
    t.strictSame(await check(version), { code: 0, stderr: '' }),
  )
}
