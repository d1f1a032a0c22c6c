// Replaces the project's contract by another document. The new files are generated in a temporary folder
// first, so that an error leaves the project unchanged.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Contract, ContractError } from 'contract-engine'
import { filesOf, readSource } from 'contract-engine/tools'
import { OperatorError } from 'contract-service/internal/lib/operator-error'
import { projectRoot } from 'contract-service/internal/lib/paths'
import { type Findings, findDifferences, writeDifferences } from 'contract-service/tools/generate/differences'
import { handlersFolder, isHandlerFile } from 'contract-service/tools/generate/handlers'
import { type Choice, chooseChecks } from 'contract-service/tools/lib/choose-checks'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { schemesFile } from 'contract-service/tools/lib/schemes'
import { renameProject, withOwnVolumes } from './names.js'
import { installPackages, packageFolders } from './packages.js'
import { adoptingPage, clientReadme, readme, withoutLinks } from './pages.js'
import { contractName, type Places, placesOf, withPlaces } from './places.js'
import { withChecks } from './schemes.js'

// What is the animals' own, beside the handlers, and of the engine: folders and files.
const animalParts = [
  'src/handlers/pets',
  'src/migrations/0001-pets.sql',
  'src/commands/seed',
  'scripts/bench',
  'scripts/diff-comparison',
  'scripts/faults',
  'scripts/features',
  'scripts/generated-clients',
  'scripts/trace',
  'test/engine',
  'test/pets',
  'docs/generated-clients.md',
  'docs/speed.md',
]

// Without these, the handlers are those of an adopted contract.
const animalSources = ['src/handlers/pets', 'src/migrations/0001-pets.sql', 'test/pets']

/** The result of an adoption. */
export interface Adopted {
  readonly warnings: readonly string[]
  readonly operations: number
  /** The number of removed files. */
  readonly removed: number
  /** The checks that src/schemes.ts has. */
  readonly choice: Choice
}

/**
 * Makes a document the contract of the project in a folder.
 * @param name replaces the project's own name, the animal store's
 * @param folder the one that the files of the document are in, by default that of the document
 * @throws {ContractError} with the problems `npm run generate` would report; nothing is changed
 * @throws {OperatorError} if a file of the document cannot be placed in the project; nothing is changed
 */
export async function adopt(
  root: string,
  document: string,
  { name, folder }: { readonly name?: string | undefined; readonly folder?: string | undefined } = {},
): Promise<Adopted> {
  await refuseAgain(root)
  const { files } = await readSource(document, filesOf(document, folder))
  const places = placesOf(document, files, folder)
  const parts = await animalPartsOf(root)
  const removed = (await Promise.all(parts.map((part) => filesIn(root, part)))).flat()
  const known = new Set((await filesIn(root, '.')).filter((file) => !removed.includes(file)))
  const taken = [...places.values()].filter((place) => place !== contractName && known.has(place))
  if (taken.length > 0)
    throw new OperatorError(`${document} refers to what already exists in the project: ${taken.join(', ')}.`)
  const { contract, differences, warnings } = await generateInStage(places)
  const choice = chooseChecks(contract)
  for (const part of parts) await rm(path.join(root, part), { recursive: true, force: true })
  await copyTo(root, places)
  await forgetRemoved(root, contract)
  await installPackages(root)
  await keepMigrations(root)
  await writePages(root, contract)
  await edit(root, 'docker-compose.yml', (text) => withOwnVolumes(text, name ?? 'adopted'))
  const kept = new Set(differences.map(({ file }) => file))
  for (const name of await readdir(path.join(root, 'generated')))
    if (!kept.has(`generated/${name}`)) await rm(path.join(root, 'generated', name))
  await writeDifferences(root, differences)
  await edit(root, schemesFile, (text) => withChecks(text, choice))
  if (name !== undefined) await rename(root, name, places)
  return { warnings, operations: contract.operations.size, removed: removed.length, choice }
}

async function refuseAgain(root: string): Promise<void> {
  const missing = animalSources.filter((part) => !existsSync(path.join(root, part)))
  if (missing.length > 0)
    throw new OperatorError(
      `This project has adopted a contract already: it has no ${missing.join(', ')}. Its handlers would be lost.
To change its contract, edit openapi.yaml, or replace it and the files it refers to, and run: npm run generate`,
    )
}

// The name of the client's package is in what is generated.
async function rename(root: string, name: string, places: Places): Promise<void> {
  await renameProject(root, name, new Set(places.values()))
  const agent = (text: string) => text.replace(/"agent": "animal-store-client\//, `"agent": "${name}-client/`)
  await edit(root, 'generated/client.ts', agent)
}

/** The output of `git status --porcelain` in a folder; if git fails, its error message. */
export async function changesOf(root: string): Promise<string> {
  const run = promisify(execFile)
  return run('git', ['status', '--porcelain'], { cwd: root }).then(
    ({ stdout }) => stdout,
    (error: Error) => error.message,
  )
}

async function copyTo(root: string, places: Places): Promise<void> {
  for (const [from, place] of places) {
    await mkdir(path.dirname(path.join(root, place)), { recursive: true })
    await writeFile(path.join(root, place), withPlaces(await readFile(from, 'utf8'), from, places))
  }
}

// The files that generate makes from the document in an empty project. Errors name the files as they were
// given, warnings as they are in the project from now on.
function generateInStage(places: Places): Promise<Findings> {
  return inTemporaryDirectory(async (stage) => {
    const renamed = (text: string, nameOf: (from: string, place: string) => string) =>
      [...places].reduce((line, [from, place]) => {
        const staged = path.join(stage, place)
        const name = nameOf(from, place)
        // The relative path ends in the absolute one.
        return line.replaceAll(path.relative(process.cwd(), staged), name).replaceAll(staged, name)
      }, text)
    try {
      await copyTo(stage, places)
      await mkdir(path.join(stage, handlersFolder), { recursive: true })
      const { warnings, ...findings } = await findDifferences(stage, true)
      return { ...findings, warnings: warnings.map((line) => renamed(line, (_, place) => place)) }
    } catch (error) {
      if (!(error instanceof ContractError)) throw error
      throw new ContractError(renamed(error.message, (from) => path.relative(process.cwd(), from)))
    }
  })
}

async function animalPartsOf(root: string): Promise<string[]> {
  const handlers = (await readdir(path.join(root, handlersFolder))).filter(isHandlerFile)
  return [...animalParts, ...handlers.map((name) => `${handlersFolder}/${name}`)]
}

// The image has the folder, whether or not there are any migrations yet.
async function keepMigrations(root: string): Promise<void> {
  await writeFile(path.join(root, 'src/migrations/.gitkeep'), '')
}

// Removes the commands of removed files from package.json and the Dockerfile.
async function forgetRemoved(root: string, { title }: Contract): Promise<void> {
  await edit(root, 'package.json', (text) => {
    const manifest = JSON.parse(text)
    for (const name of Object.keys(manifest.scripts)) {
      const run = manifest.scripts[name].replace('dist/service/', 'src/') // the source of a program
      if (animalParts.some((part) => run.includes(`${part}/`))) {
        delete manifest.scripts[name]
        delete manifest.scripts[`pre${name}`]
      }
    }
    manifest.description = `${title}, served from its OpenAPI contract`
    return `${JSON.stringify(manifest, null, 2)}\n`
  })
  await edit(root, 'Dockerfile', (text) => text.replace('keys migrate seed/seed', 'keys migrate'))
}

async function writePages(root: string, contract: Contract): Promise<void> {
  const template = await readFile(path.join(projectRoot, 'scripts/adopt/README.md'), 'utf8')
  await edit(root, 'README.md', () => readme(template, contract))
  await edit(root, 'docs/adopting.md', adoptingPage)
  await edit(root, 'src/client/README.md', (text) => clientReadme(text, contract))
  const pages = await filesIn(root, 'docs')
  for (const page of [...pages, 'CONTRIBUTING.md', 'SECURITY.md'].filter((file) => file.endsWith('.md')))
    await edit(root, page, (text) => withoutLinks(text, page, [...animalParts, ...packageFolders]))
}

async function edit(root: string, file: string, change: (text: string) => string): Promise<void> {
  const target = path.join(root, file)
  const text = await readFile(target, 'utf8').catch(() => undefined)
  const changed = text === undefined ? undefined : change(text)
  if (changed !== undefined && changed !== text) await writeFile(target, changed)
}

// The files in a folder, or the file itself, as paths from the root with slashes.
async function filesIn(root: string, part: string): Promise<string[]> {
  const place = path.join(root, part)
  const entries = await readdir(place, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOTDIR') return undefined
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (entries === undefined) return [part]
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
}
