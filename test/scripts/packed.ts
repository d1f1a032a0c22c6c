// The service as `npm pack` packs it, without the packages that build it.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { startProcess, temporaryDirectory } from 'contract-service/fixtures/process'
import { projectRoot } from 'contract-service/internal/lib/paths'
import t, { type Test } from 'tap'

const building = new Set(['@typescript', 'typescript', 'esbuild', 'contract-engine', 'contract-service'])

// Unpacks it with the packages of a production install in place of the repository's.
async function unpacked(t: Test): Promise<string> {
  const folder = temporaryDirectory(t)
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: projectRoot })
  const [{ files }] = JSON.parse(stdout)
  for (const { path: file } of files as readonly { readonly path: string }[])
    cpSync(path.join(projectRoot, file), path.join(folder, file))
  const modules = path.join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(path.join(projectRoot, 'node_modules')))
    if (!building.has(name))
      symlinkSync(path.join(projectRoot, 'node_modules', name), path.join(modules, name))
  for (const name of ['engine', 'service'])
    symlinkSync(path.join(folder, 'packages', name), path.join(modules, `contract-${name}`))
  return folder
}

t.test('the package starts from the build that it has', async (t) => {
  const folder = await unpacked(t)
  const { stderr } = await promisify(execFile)(process.execPath, ['scripts/build-server.cjs'], {
    cwd: folder,
  })
  const reason = 'The development dependencies, which build the service, are not installed'
  t.equal(stderr, `${reason}: running the existing build in dist/.\n`)
  const { welcome, stop } = await startProcess(t, { DATA_DIR: temporaryDirectory(t) }, { root: folder })
  t.match(welcome, /Demo key/)
  t.match(await stop(), { code: 0 })
})
