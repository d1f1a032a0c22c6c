// The commands `generate` and `compile` of the engine's package. `generate` writes the types of a contract,
// by which the TypeScript compiler checks handlers; `compile` writes its plan, for servers.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { compileContract } from '../compile/compile-contract.js'
import { hiddenTexts } from '../compile/contract/hidden-texts.js'
import { readContract } from '../compile/read.js'
import type { Contract } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { filesOf } from '../document/file-text.js'
import { problemOf } from '../document/methods.js'
import { runCommandLine, type Streams, WrongUsage } from '../lib/command-line.js'
import { firstLines } from '../lib/texts.js'
import { isCurrent } from '../serve/load-contract.js'
import { undeclaredErrors } from '../serve/response/additions.js'
import { keptJudgements, slowPatterns, unjudged } from './backtracking.js'
import { doublings } from './doublings.js'
import type { Judgements } from './judgements.js'
import { outdated } from './outdated.js'
import { proxyWarnings } from './proxies.js'

const usage = `Usage: contract-engine generate CONTRACT [--output FOLDER] [--check]
       contract-engine compile CONTRACT [--output FOLDER] [--check]

generate writes the types of a contract's schemas (types.ts), and of the requests and responses of its
operations (operations.ts), and keeps how long its patterns may take (patterns.json).
compile writes its plan (contract.plan), of which a server loads it, unless it is there.

  --output FOLDER  where; by default generated
  --root FOLDER    the folder that the files of the contract are in; by default that of CONTRACT
  --check          write nothing; exit 1 and name each file that is stale or missing, and each pattern of
                   which is unknown how long it may take
  --help           this

Exit codes: 0 done, or nothing to do, 1 the contract cannot be used, or --check found something,
2 wrong usage.
`

/** Runs the command, and resolves to its exit code. */
export function runCommand(args: readonly string[], streams: Streams): Promise<number> {
  return runCommandLine({ usage, options, isTold }, args, streams, ({ values, positionals }) => {
    const [command, file, ...others] = positionals
    const run = runs.get(command)
    if (run === undefined || file === undefined || others.length > 0) throw new WrongUsage()
    return run(file, values, streams)
  })
}

function isTold(error: unknown): boolean {
  return error instanceof ContractError
}

const options = {
  output: { type: 'string', default: 'generated' },
  root: { type: 'string' },
  check: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

interface Options {
  readonly output: string
  readonly root?: string
  readonly check: boolean
}

async function compile(file: string, { output, root, check }: Options, { stdout }: Streams): Promise<number> {
  const target = path.join(output, 'contract.plan')
  const readText = filesOf(file, root)
  const present = await readFile(target).catch(() => undefined)
  if (present !== undefined && (await isCurrent(present, file, { readText }))) return 0
  const content = await compileContract(file, { readText })
  const state = present === undefined ? 'missing' : 'stale'
  stdout.write(`${target} ${check ? `is ${state}` : 'written'}\n`)
  if (!check) await write(output, [{ name: 'contract.plan', content }])
  return check ? 1 : 0
}

async function generate(
  file: string,
  { output, root, check }: Options,
  { stdout, stderr }: Streams,
): Promise<number> {
  const contract = await readContract(file, filesOf(file, root))
  const { judgements, files } = await keptJudgements(contract.document, output)
  for (const line of firstLines(await warningsOf(contract, judgements), warningsMax))
    stderr.write(`${line}\n`)
  const found = await outdated(output, new Map([...(await modulesOf(file, contract)), ...files]))
  for (const { name, state } of found)
    stdout.write(`${path.join(output, name)} ${check ? `is ${state}` : 'written'}\n`)
  if (!check) {
    await write(output, found)
    return 0
  }
  const areJudged = slowPatterns(contract.document, judgements).every(({ isJudged }) => isJudged)
  if (!areJudged) stderr.write(`${unjudged}\n`)
  return found.length === 0 && areJudged ? 0 : 1
}

// A large contract that was written for another server may have warnings for each operation.
const warningsMax = 100

async function warningsOf(contract: Contract, judgements: Judgements): Promise<readonly string[]> {
  const slow = slowPatterns(contract.document, judgements)
  const undeclared = [...contract.operations.values()].flatMap((each) => undeclaredErrors(each, contract, []))
  const refused = slow.filter(({ isExponential }) => isExponential)
  if (refused.length > 0) throw new ContractError(refused, await contract.locate(refused))
  const stubs = [...contract.operations.values()].flatMap((each) =>
    each.unsupported.map((text) => problemOf(each, `${text}: it can only be a stub`)),
  )
  const noted = [
    ...contract.warnings,
    ...hiddenTexts(contract),
    ...proxyWarnings(contract),
    ...stubs,
    ...undeclared,
    ...slow,
    ...doublings(contract.specification),
  ]
  return contract.locate(noted.map(({ text, at }) => ({ text: `warning: ${text}`, at })))
}

async function modulesOf(file: string, contract: Contract): Promise<ReadonlyMap<string, string>> {
  const { generateOperations, generateTypes } = await import('./index.js').catch(explainMissing)
  const types = generateTypes(contract)
  const header = `// Generated from ${path.basename(file)} by \`contract-engine generate\`. Do not edit.\n\n`
  return new Map([
    ['types.ts', header + types],
    ['operations.ts', header + generateOperations(contract, types)],
  ])
}

// These are development dependencies of a project. A server does not need them, so npm installs them only on
// request.
function explainMissing(error: NodeJS.ErrnoException): never {
  if (!String(error.code).endsWith('MODULE_NOT_FOUND')) throw error
  throw new ContractError(
    `${error.message.split('\n', 1)[0]}\nRun: npm install --save-dev openapi-typescript@7 typescript@5 recheck@4`,
  )
}

async function write(
  folder: string,
  files: readonly { readonly name: string; readonly content: string | Uint8Array }[],
): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const { name, content } of files) await writeFile(path.join(folder, name), content)
}

const runs: ReadonlyMap<string | undefined, typeof generate> = new Map([
  ['generate', generate],
  ['compile', compile],
])
