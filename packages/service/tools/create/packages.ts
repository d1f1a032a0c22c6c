// The packages that a project installs. No registry has those of a checkout, so the project gets them as
// tarballs in its folder.

import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)

const names = ['contract-client', 'contract-diff', 'contract-engine', 'contract-service']

/**
 * Returns a project's dependencies on our packages: `^1.0.0`, or `file:packages/contract-service-1.0.0.tgz`.
 * @param used the optional peer dependencies that the project needs: `jose`, `papaparse`
 */
export async function ownDependencies(
  project: string,
  used: readonly string[],
): Promise<Record<string, string>> {
  const own = names.map(async (name) => {
    const folder = folderOf(name)
    const { version, peerDependencies } = await manifestOf(folder)
    const entry = [name, areTarballs() ? await pack(folder, project) : `^${version}`] as const
    return { entry, peerDependencies }
  })
  const packages = await Promise.all(own)
  const ranges = Object.assign({}, ...packages.map(({ peerDependencies }) => peerDependencies))
  const others = used.map((name) => [name, ranges[name] ?? '*'] as const)
  return Object.fromEntries([...packages.map(({ entry }) => entry), ...others])
}

/** True if our packages are in a checkout: this module is then not in node_modules. */
export function areTarballs(): boolean {
  return !import.meta.dirname.split(path.sep).includes('node_modules')
}

function folderOf(name: string): string {
  return path.dirname(require.resolve(`${name}/package.json`))
}

interface Manifest {
  readonly version: string
  readonly peerDependencies?: Readonly<Record<string, string>>
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'))
}

async function pack(folder: string, project: string): Promise<string> {
  const place = path.join(project, 'packages')
  await mkdir(place, { recursive: true })
  const args = ['pack', folder, '--pack-destination', place, '--ignore-scripts', '--silent']
  const { stdout } = await promisify(execFile)('npm', args)
  return `file:packages/${stdout.trim()}`
}
