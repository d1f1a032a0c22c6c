import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { projectRoot } from '../../src/paths.js'
import { temporaryDirectory } from '../fixtures/directory.js'

const own = ['package.json', 'scripts/build-server.cjs', 'scripts/check-setup.cjs']

// Runs the build of a project that has `packages` and nothing to compile.
async function build(t: Test, packages: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const folder = temporaryDirectory(t)
  for (const file of own) cpSync(path.join(projectRoot, file), path.join(folder, file))
  for (const [file, text] of Object.entries(packages)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  const script = path.join(folder, 'scripts/build-server.cjs')
  return promisify(execFile)(process.execPath, [script]).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error) => error,
  )
}

function compiler(code: string): Record<string, string> {
  return {
    'node_modules/@typescript/native/package.json': '{}',
    'node_modules/@typescript/native/lib/tsc.js': code,
  }
}

t.test('a checkout without its packages is told how to get them', async (t) => {
  t.match(await build(t, {}), { code: 1, stderr: 'The packages are not installed yet: npm ci\n' })
})

t.test('a compiler that finds an error fails the build with its code', async (t) => {
  t.match(await build(t, compiler('process.exit(2)')), { code: 2, stderr: 'Building the service …\n' })
})

t.test('a compiler that is killed, for want of memory say, fails the build, and it says so', async (t) => {
  const stderr = 'Building the service …\nThe compiler was ended: SIGKILL\n'
  t.match(await build(t, compiler("process.kill(process.pid, 'SIGKILL')")), { code: 1, stderr })
})

t.test('a compiler that ends well builds', async (t) => {
  t.match(await build(t, compiler('')), { code: 0 })
})
