// Installs the built service with quotas that no run reaches: a response "too many requests" tests no
// handler.

import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { isMap, parseDocument } from 'yaml'
import { projectRoot } from '../../src/lib/paths.js'

const ample = 2_000_000_000

/** Installs the built service in a folder. */
export async function installWithoutQuotas(folder: string): Promise<void> {
  for (const part of ['dist', 'src/migrations', 'package.json'])
    await cp(path.join(projectRoot, part), path.join(folder, part), { recursive: true })
  await symlink(path.join(projectRoot, 'node_modules'), path.join(folder, 'node_modules'))
  const contract = 'generated/openapi.yaml' // in one file
  const text = await readFile(path.join(projectRoot, contract), 'utf8')
  await mkdir(path.join(folder, 'generated'))
  await writeFile(path.join(folder, contract), withoutQuotas(text))
  // Compile again: the copied plan belongs to the contract with quotas.
  const compile = path.join(folder, 'node_modules/contract-service/dist/src/commands/compile.js')
  await promisify(execFile)(process.execPath, [compile], { cwd: folder })
}

/**
 * Returns a contract without effective quotas, for fixed plans and for addresses, and without bans of keys.
 */
export function withoutQuotas(text: string): string {
  const document = parseDocument(text)
  const limits = document.get('x-rate-limits')
  if (!isMap(limits)) return text
  const plans = limits.get('plans')
  for (const { key } of isMap(plans) ? plans.items : [])
    if (limits.getIn(['plans', key]) !== 'custom')
      limits.setIn(['plans', key], { perMinute: ample, perDay: ample })
  limits.setIn(['anonymous', 'perMinute'], ample)
  limits.setIn(['ban', 'rejections'], ample)
  limits.setIn(['ban', 'withinSeconds'], ample + 1)
  return String(document)
}
