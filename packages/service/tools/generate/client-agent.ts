// The `User-Agent` of a project's client.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { nameOf } from '../../src/lib/project-name.js'

/**
 * Returns the product of a project's client (RFC 9110, section 10.1.5), `animal-store-client/1.0.0`: name and
 * version of the package in src/client, without its scope. Without such a package, derives both from the
 * project's.
 */
export async function clientAgent(root: string): Promise<string> {
  const own = await manifestIn(path.join(root, 'src/client'))
  if (own?.name !== undefined) return `${own.name.replace(/^@.*\//, '')}/${own.version}`
  const project = (await manifestIn(root)) ?? {}
  return `${nameOf(project)}-client/${project.version ?? '1.0.0'}`
}

type Manifest = { readonly name?: string; readonly version?: string }

async function manifestIn(folder: string): Promise<Manifest | undefined> {
  const text = await readFile(path.join(folder, 'package.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}
