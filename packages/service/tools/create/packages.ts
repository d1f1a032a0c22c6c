// The packages that a project installs. Those of a checkout, which no registry has, are tarballs in its folder.

import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)

const names = ['contract-client', 'contract-engine', 'contract-service']

/** The dependencies of a project on our packages: `^1.0.0`, or `file:packages/contract-service-1.0.0.tgz`. */
export async function ownDependencies(project: string): Promise<Record<string, string>> {
  const versions = names.map(async (name) => {
    const folder = path.dirname(require.resolve(`${name}/package.json`))
    return [name, areTarballs() ? await pack(folder, project) : `^${await versionOf(folder)}`] as const
  })
  return Object.fromEntries(await Promise.all(versions))
}

/** Whether they are of a checkout: as a workspace of it, this module is not in node_modules. */
export function areTarballs(): boolean {
  return !import.meta.dirname.split(path.sep).includes('node_modules')
}

async function versionOf(folder: string): Promise<string> {
  return JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')).version
}

async function pack(folder: string, project: string): Promise<string> {
  const place = path.join(project, 'packages')
  await mkdir(place, { recursive: true })
  const args = ['pack', folder, '--pack-destination', place, '--ignore-scripts', '--silent']
  const { stdout } = await promisify(execFile)('npm', args)
  return `file:packages/${stdout.trim()}`
}
