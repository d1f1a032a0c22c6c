// What there is to do to make the project that of another contract, worked out in a folder of its own before anything
// of the project is touched.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { ContractError } from '../../src/contract/contract-error.js'
import { readSource } from '../../src/contract/files.js'
import { OperatorError } from '../../src/operator-error.js'
import { contractFile } from '../../src/paths.js'
import { type Findings, findDifferences, writeDifferences } from '../generate/differences.js'
import { handlersFolder, isHandlerFile } from '../generate/handlers.js'

// Beside the handlers, which are found, and the tests that are not of the house.
const animalParts = [
  'src/database/pets.ts',
  'src/database/migrations/0001-pets.sql',
  'src/commands/seed.ts',
  'src/commands/seed',
  'scripts/bench',
  'scripts/faults',
  'scripts/fuzz',
  'scripts/generated-clients',
  'test/fixtures/facts.ts',
  // What these and their tests alone have a use for.
  'src/database/driver/copy.ts',
  ...['pgbouncer', 'processes', 'replication'].map((name) => `scripts/lib/${name}.ts`),
  ...[
    ...['browser', 'clocks', 'collector', 'copy', 'count', 'faults-program', 'locks', 'log-program'],
    ...['operations', 'pages', 'pgbouncer', 'registry', 'shell'],
  ].map((name) => `test/fixtures/${name}.ts`),
]
// Files and folders of tests that hold of any contract. Every other asks something of the animals' own.
const houseTests = [
  'test/auth',
  ...['deprecation', 'exchange', 'json', 'links', 'retry'].map((name) => `test/client/${name}.ts`),
  'test/commands/terminal.ts',
  'test/config.ts',
  'test/contract/files.ts',
  'test/database/api-keys.ts',
  'test/database/driver/transaction.ts',
  'test/database/driver/values.ts',
  'test/database/embedded/server.ts',
  'test/database/tls.ts',
  'test/deploy',
  'test/http/health.ts',
  'test/rate-limit/redis.ts',
  'test/runs.ts',
  'test/schemas',
  'test/scripts/dev/watch.ts',
  'test/scripts/build-server.ts',
  'test/scripts/check-setup.ts',
  'test/scripts/generate/server.ts',
  'test/shutdown.ts',
]
const animalScripts = ['seed', 'bench', 'faults', 'fuzz', 'generated-clients'].flatMap((name) => [
  `pre${name}`,
  name,
])

/** What was done. */
export interface Adopted {
  readonly warnings: readonly string[]
  readonly operations: number
  /** Files. */
  readonly removed: number
}

/**
 * Makes the project in that folder that of a document.
 * @throws {ContractError} naming what `npm run generate` would refuse; then nothing was changed
 * @throws {OperatorError} when a file of the document has no place in the project; then nothing was changed
 */
export async function adopt(root: string, document: string): Promise<Adopted> {
  const { files } = await readSource(document)
  const places = placesOf(document, files)
  const parts = await animalPartsOf(root)
  const removed = (await Promise.all(parts.map((part) => filesIn(root, part)))).flat()
  const known = new Set((await filesIn(root, '.')).filter((file) => !removed.includes(file)))
  const taken = [...places.values()].find((place) => place !== contractName && known.has(place))
  if (taken !== undefined)
    throw new OperatorError(`${document} refers to ${taken}, which the project has, too.`)
  const { contract, differences, warnings } = await rehearse(places)
  for (const part of parts) await rm(path.join(root, part), { recursive: true })
  await copyTo(root, places)
  await forgetRemoved(root, removed)
  const kept = new Set(differences.map(({ file }) => file))
  for (const name of await readdir(path.join(root, 'generated')))
    if (!kept.has(`generated/${name}`)) await rm(path.join(root, 'generated', name))
  await writeDifferences(root, differences)
  return { warnings, operations: contract.operations.size, removed: removed.length }
}

/** What git tells of a folder's changes; where there is no git, that. */
export async function changesOf(root: string): Promise<string> {
  const run = promisify(execFile)
  return run('git', ['status', '--porcelain'], { cwd: root }).then(
    ({ stdout }) => stdout,
    (error: Error) => error.message,
  )
}

const contractName = path.basename(contractFile)

// From where each file is to where it goes: the document to openapi.yaml, the others beside that as they are beside it.
function placesOf(document: string, files: readonly string[]): ReadonlyMap<string, string> {
  const folder = path.dirname(path.resolve(document))
  const others = files.filter((file) => path.resolve(file) !== path.resolve(document))
  const outside = others.find((file) => path.relative(folder, file).startsWith('..'))
  if (outside !== undefined)
    throw new OperatorError(`${document} refers to ${outside}, outside of its folder.`)
  return new Map([
    [document, contractName],
    ...others.map((file): [string, string] => [file, path.relative(folder, file).split(path.sep).join('/')]),
  ])
}

async function copyTo(root: string, places: ReadonlyMap<string, string>): Promise<void> {
  const [document = ''] = places.keys()
  for (const [from, place] of places) {
    await mkdir(path.dirname(path.join(root, place)), { recursive: true })
    await writeFile(path.join(root, place), withNewName(await readFile(from, 'utf8'), from, document))
  }
}

// What refers to the document by its name goes on to refer to it.
function withNewName(text: string, file: string, document: string): string {
  return text.replace(/(\$ref["']?\s*:\s*["']?)([^"'\s#]+)(?=#)/g, (whole, before, ref) => {
    const isOwn = path.resolve(path.dirname(file), ref) === path.resolve(document)
    return isOwn ? `${before}${path.posix.join(path.posix.dirname(ref), contractName)}` : whole
  })
}

// What generate makes of the document where there is nothing else.
async function rehearse(places: ReadonlyMap<string, string>): Promise<Findings> {
  const stage = await mkdtemp(path.join(tmpdir(), 'adopt-'))
  const shown = path.relative(process.cwd(), stage) + path.sep
  try {
    await copyTo(stage, places)
    await mkdir(path.join(stage, handlersFolder), { recursive: true })
    const { warnings, ...findings } = await findDifferences(stage, true)
    return { ...findings, warnings: warnings.map((line) => line.replace(shown, '')) }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    throw new ContractError(error.message.replaceAll(shown, ''))
  } finally {
    await rm(stage, { recursive: true })
  }
}

async function animalPartsOf(root: string): Promise<string[]> {
  const handlers = (await readdir(path.join(root, handlersFolder))).filter(isHandlerFile)
  const tests = (await filesIn(root, 'test')).filter((file) => !file.startsWith('test/fixtures/'))
  const parts = [
    ...animalParts,
    ...handlers.map((name) => `${handlersFolder}/${name}`),
    ...tests.filter((file) => !isOfHouse(file)),
  ]
  const present = await Promise.all(parts.map(async (part) => (await filesIn(root, part)).length > 0))
  return parts.filter((_, i) => present[i])
}

function isOfHouse(file: string): boolean {
  return houseTests.some((each) => file === each || file.startsWith(`${each}/`))
}

// In the scripts, the image and the list of quick tests.
async function forgetRemoved(root: string, removed: readonly string[]): Promise<void> {
  await edit(root, 'package.json', (text) => {
    const manifest = JSON.parse(text)
    for (const name of animalScripts) delete manifest.scripts[name]
    return `${JSON.stringify(manifest, null, 2)}\n`
  })
  await edit(root, 'Dockerfile', (text) => text.replace('keys migrate seed', 'keys migrate'))
  await edit(root, 'test/fixtures/quick.ts', (text) =>
    text
      .split('\n')
      .filter((line) => !removed.includes(`test/${/'\.\.\/(.*)\.js'/.exec(line)?.[1]}.ts`))
      .join('\n'),
  )
}

async function edit(root: string, file: string, change: (text: string) => string): Promise<void> {
  const target = path.join(root, file)
  const text = await readFile(target, 'utf8').catch(() => undefined)
  if (text !== undefined) await writeFile(target, change(text))
}

// By their paths from the root, with slashes. A file is the only one in itself.
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
