// openapi.yaml -> generated/: the types of its schemas, what each operation takes and may answer, and the map of
// its handlers; and a stub in src/handlers/ for each operation that has none. `--check` writes nothing and fails on
// whatever does not fit the contract.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { paintFor, print, type Style } from '../src/commands/terminal.js'
import { ContractError } from '../src/contract/contract-error.js'
import { readSource } from '../src/contract/files.js'
import { readContract } from '../src/contract/read.js'
import { unmetSecurity } from '../src/contract/security.js'
import type { Contract } from '../src/contract/types.js'
import { contractFile, projectRoot } from '../src/paths.js'
import { generateClient } from './generate/client.js'
import { generateHandlers, generateStub, handlersFolder, isHandlerFile } from './generate/handlers.js'
import { lintContract } from './generate/lint.js'
import { generateOperations } from './generate/operations.js'
import { sunsets } from './generate/sunsets.js'
import { generateTypes } from './generate/types.js'

const usage = `Usage: npm run generate [-- [--check] [--json]]

Writes generated/ from openapi.yaml, and a stub in ${handlersFolder}/ for each operation without a handler. A handler
that exists is never touched.

  --check  write nothing; exit 1 and name each file that is stale, missing or orphaned, and each operation
           past its sunset
  --json   what was done or found, for scripts: {"files":[{"file":"…","state":"stale"}],"sunsets":[]}
  --help   this

Examples:
  npm run generate
  npm run --silent generate -- --check
  npm run --silent generate -- --check --json | jq -r '.files[].file'

Exit codes: 0 done, or nothing to do, 1 the contract cannot be used, or --check found something, 2 wrong usage.
`

const generatedFolder = 'generated'

// A file that is not what the contract makes of it. Without content it should not be there.
interface Difference {
  readonly file: string
  readonly state: 'stale' | 'missing' | 'orphaned'
  readonly content?: string
}

async function main(args: readonly string[]): Promise<number> {
  const { check = false, json = false, help } = readArgs(args)
  if (help) {
    await print(usage)
    return 0
  }
  const { errors, warnings } = await lintContract(contractFile).catch(async (error) => {
    await readSource(contractFile) // which tells better what cannot be read, and where
    throw error
  })
  if (errors.length > 0) throw new ContractError(errors.join('\n'))
  const contract = await readContract(contractFile)
  warn([...warnings, ...unmetSecurities(contract)])
  // Everything is worked out before anything is written: a run that fails leaves all as it was.
  const differences = [...(await generatedDifferences(contract)), ...(await handlerDifferences(contract))]
  const outcome = check ? found(contract, differences) : { files: await write(differences), sunsets: [] }
  await print(json ? `${JSON.stringify(outcome, null, 2)}\n` : toText(outcome, check))
  if (!check) return 0
  if (differences.length > 0) process.stderr.write('Run npm run generate.\n')
  return outcome.files.length + outcome.sunsets.length > 0 ? 1 : 0
}

// What was found, or done.
interface Outcome {
  readonly files: readonly { readonly file: string; readonly state: State }[]
  /** Operations past their time, a line each. */
  readonly sunsets: readonly string[]
}

type State = Difference['state'] | 'written' | 'added' | 'removed'

const words: Record<State, readonly [style: Style, words: string]> = {
  stale: ['red', 'is stale'],
  missing: ['red', 'is missing'],
  orphaned: ['red', 'is orphaned'],
  written: ['green', 'written'],
  added: ['green', 'added: a stub that answers 501 until you write it'],
  removed: ['dim', 'removed'],
}
const orphanedHandler = 'is orphaned: its operation is gone from the contract, so remove it or rename it'

function toText({ files, sunsets: past }: Outcome, check: boolean): string {
  if (files.length + past.length === 0) return check ? '' : 'generated/ is up to date\n'
  const paint = paintFor(process.stdout)
  const lines = files.map(({ file, state }) => {
    const [style, text] = words[state]
    return `${file} ${paint(style, state === 'orphaned' && !check ? orphanedHandler : text)}`
  })
  return [...lines, ...past.map((line) => paint('red', line))].map((line) => `${line}\n`).join('')
}

function warn(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`${line}\n`)
}

function unmetSecurities(contract: Contract): string[] {
  const unmet = [...contract.operations.values()].map((operation) => unmetSecurity(operation, contract))
  return unmet.flatMap((text) => (text === undefined ? [] : [`warning: ${text}: it can only answer 501`]))
}

function readArgs(args: readonly string[]): { check?: boolean; json?: boolean; help?: boolean } {
  try {
    const options = {
      check: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

class UsageError extends Error {}

async function generatedDifferences(contract: Contract): Promise<Difference[]> {
  const contents = new Map([
    ['types.ts', await generateTypes(contractFile, contract)],
    ['operations.ts', generateOperations(contract)],
    ['handlers.ts', generateHandlers(contract)],
    ['client.ts', generateClient(contract)],
  ])
  const present = await readdir(path.join(projectRoot, generatedFolder)).catch(() => [])
  const left = present.filter((name) => !contents.has(name)).map((name) => orphan(generatedFolder, name))
  const compared = [...contents].map(([name, content]) => compare(`${generatedFolder}/${name}`, content))
  return [...(await Promise.all(compared)).flat(), ...left]
}

async function compare(file: string, content: string): Promise<Difference[]> {
  const present = await readFile(path.join(projectRoot, file), 'utf8').catch(() => undefined)
  if (present === content) return []
  return [{ file, state: present === undefined ? 'missing' : 'stale', content }]
}

async function handlerDifferences({ operations }: Contract): Promise<Difference[]> {
  const present = (await readdir(path.join(projectRoot, handlersFolder))).filter(isHandlerFile)
  const names = new Set([...operations.values()].map(({ name }) => `${name}.ts`))
  const missing = [...operations.values()].filter(({ name }) => !present.includes(`${name}.ts`))
  const orphans = present.filter((name) => !names.has(name))
  return [
    ...missing.map((operation): Difference => {
      const file = `${handlersFolder}/${operation.name}.ts`
      return { file, state: 'missing', content: generateStub(operation) }
    }),
    ...orphans.map((name) => orphan(handlersFolder, name)),
  ]
}

function orphan(folder: string, name: string): Difference {
  return { file: `${folder}/${name}`, state: 'orphaned' }
}

function found(contract: Contract, differences: readonly Difference[]): Outcome {
  const { past, soon } = sunsets(contract, Date.now())
  warn(soon.map((line) => `warning: ${line}`))
  return { files: differences.map(({ file, state }) => ({ file, state })), sunsets: past }
}

async function write(differences: readonly Difference[]): Promise<Outcome['files']> {
  const files: { file: string; state: State }[] = []
  for (const { file, content } of differences) {
    const target = path.join(projectRoot, file)
    const isOurs = file.startsWith(`${generatedFolder}/`)
    await mkdir(path.dirname(target), { recursive: true })
    // Never over a handler, not even one that came into being meanwhile.
    if (content !== undefined) await writeFile(target, content, { flag: isOurs ? 'w' : 'wx' })
    else if (isOurs) await rm(target)
    files.push({ file, state: stateAfter(content !== undefined, isOurs) })
  }
  return files
}

function stateAfter(isWritten: boolean, isOurs: boolean): State {
  if (isWritten) return isOurs ? 'written' : 'added'
  return isOurs ? 'removed' : 'orphaned'
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    const isMendable = error instanceof ContractError || error instanceof UsageError
    process.stderr.write(`${isMendable ? error.message : error.stack}\n`)
    process.exitCode = error instanceof UsageError ? 2 : 1
  },
)
