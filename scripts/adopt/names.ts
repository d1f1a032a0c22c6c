// Renames the project: its packages, metrics, keys, databases, units, images and alerts, and the files that
// are named after it. In all files at once, so that they still agree.

import { execFile } from 'node:child_process'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { capitalized } from 'contract-engine/lib/texts'
import { withChecksum } from 'contract-service/internal/auth/api-key'
import { keyPrefixOf } from 'contract-service/internal/lib/project-name'

/** Names that packages, metrics, Kubernetes and PostgreSQL accept. */
export const namePattern = /^(?=.{2,30}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/

/** A text of the project, with its name in every spelling replaced. */
export function renamed(text: string, name: string): string {
  const words = name.split('-')
  const capitals = words.map(capitalized)
  return text
    .replace(/animal-store/g, name)
    .replace(/animal_store/g, words.join('_'))
    .replace(/AnimalStore/g, capitals.join(''))
    .replace(/Animal Store/g, capitals.join(' '))
    .replace(/\banimals\.example\b/g, `${name}.example`)
    .replace(/\banimals-example-tls\b/g, `${name}-example-tls`)
    .replace(/\bask_([0-9A-Za-z]{30})[0-9A-Za-z]{6}\b/g, (_, random) =>
      withChecksum(keyPrefixOf(name) + random),
    )
    .replace(/\bask_/g, keyPrefixOf(name))
}

/**
 * docker-compose.yml with volumes of this name. Compose calls a volume by the project, which is the folder: a
 * contract that is adopted in the folder of an animal store would be served on the animals' data.
 */
export function withOwnVolumes(text: string, name: string): string {
  const [containers = '', volumes = ''] = text.split(/(?<=^volumes:\n)/m)
  return (
    containers.replace(/^( +- )(?=\w+:\/)/gm, `$1${name}-`) + volumes.replace(/^ {2}(?=\w)/gm, `  ${name}-`)
  )
}

// The licence names its holders, and the changelog what has been.
const kept = new Set(['LICENSE', 'CHANGELOG.md', 'package-lock.json'])
const skipped = new Set(['.git', '.data', '.tap', 'dist', 'generated', 'node_modules'])

/**
 * Renames everything in a project but its contract, the files that it refers to, and what is generated.
 * @param contract paths from the root, with slashes
 */
export async function renameProject(
  root: string,
  name: string,
  contract: ReadonlySet<string>,
): Promise<void> {
  const files = await filesBelow(root)
  const changed: string[] = []
  for (const file of files.filter((each) => !contract.has(each) && !kept.has(each))) {
    const before = await readFile(path.join(root, file), 'utf8')
    const text = before.includes('\0') ? before : renamed(before, name)
    const target = renamed(file, name)
    if (text !== before) await writeFile(path.join(root, file), text)
    if (target !== file) await rename(path.join(root, file), path.join(root, target))
    if (text !== before) changed.push(target)
  }
  await renameLock(root, name)
  await format(root, changed)
}

// Of the project itself: a dependency may be called anything.
async function renameLock(root: string, name: string): Promise<void> {
  const file = path.join(root, 'package-lock.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const replaced = text?.replaceAll('"name": "animal-store-service"', `"name": "${name}-service"`)
  if (replaced !== undefined) await writeFile(file, replaced)
}

async function filesBelow(root: string, folder = ''): Promise<string[]> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true })
  const found = entries.map(async (entry) => {
    const file = path.posix.join(folder, entry.name)
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : filesBelow(root, file)
    return entry.isFile() ? [file] : []
  })
  return (await Promise.all(found)).flat()
}

// A line that is shorter or longer now may be broken elsewhere.
async function format(root: string, files: readonly string[]): Promise<void> {
  const formatted = files.filter((file) => /\.(ts|mts|cjs|mjs|js|json)$/.test(file))
  const biome = path.join(root, 'node_modules/@biomejs/biome/bin/biome')
  const args = [biome, 'format', '--write', '--vcs-enabled=false', ...formatted]
  await promisify(execFile)(process.execPath, args, { cwd: root })
}
