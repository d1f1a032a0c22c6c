// Writes the files of a resource. Afterwards they are the team's: no file is ever overwritten.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Contract, ContractError } from 'contract-engine'
import { migrationNames } from '../../../src/database/migration.js'
import { ownMigrations } from '../../../src/lib/paths.js'
import { generateStub, handlersFolder } from '../handlers.js'
import { handlerTexts } from './handlers.js'
import { migrationText } from './migration.js'
import { type Resource, readResource } from './resource.js'
import { tableText } from './table.js'
import { testText } from './test-file.js'

const migrationsFolder = 'src/migrations'

export interface Proposed {
  /** The files that were written. */
  readonly files: readonly string[]
  /** The operations that remain stubs, one per line, each with the reason. */
  readonly others: readonly string[]
}

/**
 * Writes the files of a resource to the project in a folder: all of them, or none.
 * @throws {ContractError} if there is no such resource, or one of the files exists and is no stub
 */
export async function proposeResource(root: string, contract: Contract, name: string): Promise<Proposed> {
  const resource = readResource(contract, name)
  const texts = await textsOf(root, resource)
  const stubs = new Map(
    Object.values(resource.operations).map((each) => [
      `${handlersFolder}/${each.name}.ts`,
      generateStub(each),
    ]),
  )
  const inTheWay: string[] = []
  for (const file of texts.keys())
    if (!(await isFree(path.join(root, file), stubs.get(file)))) inTheWay.push(file)
  const folder = `${migrationsFolder}/${resource.folder}`
  if (existsSync(path.join(root, folder))) inTheWay.push(folder)
  if (inTheWay.length > 0)
    throw new ContractError(
      inTheWay.map((file) => `${file} is there already: nothing was written`).join('\n'),
    )
  for (const [file, text] of texts) {
    const target = path.join(root, file)
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, text, { flag: stubs.has(file) ? 'w' : 'wx' })
  }
  const files = [...texts.keys()]
  await format(root, files)
  return { files, others: resource.others }
}

async function textsOf(root: string, resource: Resource): Promise<ReadonlyMap<string, string>> {
  const { folder } = resource
  const test = testText(resource, existsSync(path.join(root, 'test/fixtures/service.ts')))
  return new Map([
    [`${migrationsFolder}/${folder}/${await nextNumber(root)}-${folder}.sql`, migrationText(resource)],
    [`${handlersFolder}/${folder}/${folder}.ts`, tableText(resource)],
    ...[...handlerTexts(resource)].map(([name, text]) => [`${handlersFolder}/${name}.ts`, text] as const),
    ...(test === undefined ? [] : [[`test/handlers/${folder}.ts`, test] as const]),
  ])
}

// True if the file does not exist, or is a stub that nobody has edited.
async function isFree(file: string, stub: string | undefined): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined || text === stub
}

async function nextNumber(root: string): Promise<string> {
  const names = await migrationNames([ownMigrations, path.join(root, migrationsFolder)])
  const numbers = names.map((name) => Number(name.slice(0, 4)))
  return String(Math.max(0, ...numbers) + 1).padStart(4, '0')
}

// Formats the files by the project's own Biome settings, if it has any.
async function format(root: string, files: readonly string[]): Promise<void> {
  const biome = path.join(root, 'node_modules/.bin/biome')
  if (!existsSync(path.join(root, 'biome.json')) || !existsSync(biome)) return
  const sources = files.filter((file) => file.endsWith('.ts'))
  const run = promisify(execFile)(biome, ['check', '--write', '--vcs-enabled=false', ...sources], {
    cwd: root,
  })
  await run.catch(() => {}) // the lint reports what Biome cannot mend
}
