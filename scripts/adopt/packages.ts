// What an adopted project is made of, the engine and the client, are packages that it installs: a later fix of them is
// a line in its lock file. As long as no registry has them, they are tarballs beside it.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

/** The folders of packages, which become tarballs. */
export const packageFolders: readonly string[] = ['packages/engine', 'packages/service', 'packages/client']

interface Manifest {
  readonly name: string
  readonly version: string
  readonly [field: string]: unknown
}

interface Packed {
  readonly manifest: Manifest
  /** `file:packages/contract-engine-1.0.0.tgz` */
  readonly source: string
  readonly integrity: string
}

/** Packs each package of a project, as it is built, and lets the project install the tarballs. */
export async function installPackages(root: string): Promise<void> {
  const folders = packageFolders.filter((folder) => existsSync(path.join(root, folder)))
  const packed = await Promise.all(folders.map((folder) => pack(root, folder)))
  await edit(root, 'package.json', (text) => withTarballs(text, packed))
  await edit(root, 'package-lock.json', (text) => withLocked(text, packed))
  await edit(root, 'Dockerfile', withoutBuilds)
  await edit(root, '.gitignore', (text) => `${text}!packages/*.tgz\n`)
  for (const folder of folders) await rm(path.join(root, folder), { recursive: true })
}

async function pack(root: string, folder: string): Promise<Packed> {
  const args = ['pack', `./${folder}`, '--pack-destination', 'packages', '--ignore-scripts', '--silent']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root })
  const file = `packages/${stdout.trim()}`
  const hash = createHash('sha512').update(await readFile(path.join(root, file)))
  const manifest = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8'))
  return { manifest, source: `file:${file}`, integrity: `sha512-${hash.digest('base64')}` }
}

function withTarballs(text: string, packed: readonly Packed[]): string {
  const { workspaces: _, ...manifest } = JSON.parse(text)
  replaceVersions(manifest, packed)
  manifest.files = [...manifest.files.filter((file: string) => !isInFolder(file)), 'packages/*.tgz']
  for (const [name, command] of Object.entries<string>(manifest.scripts))
    manifest.scripts[name] = command
      .split(' ')
      .filter((word) => !isInFolder(word))
      .join(' ')
  return `${JSON.stringify(manifest, null, 2)}\n`
}

function isInFolder(text: string): boolean {
  return text.startsWith('packages/')
}

function replaceVersions(manifest: Record<string, Record<string, string>>, packed: readonly Packed[]): void {
  for (const { manifest: each, source } of packed)
    for (const kind of [manifest.dependencies, manifest.devDependencies])
      if (kind?.[each.name] !== undefined) kind[each.name] = source
}

// What npm itself would write.
function withLocked(text: string, packed: readonly Packed[]): string {
  const lock = JSON.parse(text)
  const own = lock.packages['']
  delete own.workspaces
  replaceVersions(own, packed)
  for (const folder of packageFolders) delete lock.packages[folder]
  for (const { manifest, source, integrity } of packed) {
    const isDev = manifest.name in own.devDependencies
    const { name, version, license, dependencies, bin, engines } = manifest
    const { peerDependencies, peerDependenciesMeta } = manifest
    lock.packages[`node_modules/${name}`] = {
      ...{ version, resolved: source, integrity, ...(isDev && { dev: true }), license, dependencies, bin },
      ...{ engines, peerDependencies, peerDependenciesMeta },
    }
  }
  return `${JSON.stringify(lock, null, 2)}\n`
}

// The image installs the tarballs, and builds the service alone.
function withoutBuilds(text: string): string {
  return text
    .replace(/^COPY packages\/engine\/package\.json .*$/m, 'COPY packages packages')
    .replace(/^COPY (--from=build \/app\/)?packages\/(engine|service).*\n/gm, '')
    .replace('node packages/engine/build.cjs && ', '')
}

async function edit(root: string, file: string, change: (text: string) => string): Promise<void> {
  const target = path.join(root, file)
  await writeFile(target, change(await readFile(target, 'utf8')))
}
