// The command of the package: writes the typed client of a contract, whatever server it is for.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Contract } from 'contract-engine'
import { runCommandLine, WrongUsage } from 'contract-engine/lib/command-line'

const usage = `Usage: contract-client generate CONTRACT [--output FOLDER] [--agent NAME/VERSION] [--check]

Writes the typed client of a contract, of OpenAPI 3.0, 3.1 or 3.2, into a folder: its functions and types
(index.ts), what they are made of (client.ts), the types of schemas (types.ts) and of errors (errors.ts).

  --output FOLDER       where; by default generated
  --root FOLDER         the folder that the files of the contract are in; by default that of CONTRACT
  --agent NAME/VERSION  what its requests call themselves in User-Agent; by default this package
  --check               write nothing; exit 1 and name each file that is stale or missing
  --help                this

Example:
  npx contract-client generate ../library/openapi.yaml --output src/library

Exit codes: 0 done, or nothing to do, 1 the contract cannot be used, or --check found something,
2 wrong usage.
`

const options = {
  output: { type: 'string', default: 'generated' },
  root: { type: 'string' },
  agent: { type: 'string' },
  check: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  const { ContractError } = await import('contract-engine')
  const isTold = (error: unknown) => error instanceof ContractError
  return runCommandLine({ usage, options, isTold }, args, process, async ({ values, positionals }) => {
    const [command, file, ...others] = positionals
    const { output, root, agent, check } = values
    if (command !== 'generate' || file === undefined || others.length > 0) throw new WrongUsage()
    // A product and its version (RFC 9110, section 10.1.5).
    if (agent !== undefined && !/^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?$/.test(agent))
      throw new WrongUsage('--agent must be a product, and its version if it has one: library-client/1.0.0')
    const { readContract } = await import('contract-engine/compile')
    const { filesOf } = await import('contract-engine/tools')
    const contract = await readContract(file, filesOf(file, root))
    return write(output, await modulesOf(file, contract, agent), check)
  })
}

async function write(
  folder: string,
  modules: ReadonlyMap<string, string>,
  isCheck: boolean,
): Promise<number> {
  const { outdated } = await import('contract-engine/generate')
  const found = await outdated(folder, modules)
  if (!isCheck) await mkdir(folder, { recursive: true })
  for (const { name, state, content } of found) {
    if (!isCheck) await writeFile(path.join(folder, name), content)
    process.stdout.write(`${path.join(folder, name)} ${isCheck ? `is ${state}` : 'written'}\n`)
  }
  return isCheck && found.length > 0 ? 1 : 0
}

async function modulesOf(
  file: string,
  contract: Contract,
  agent: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const { generateErrors, generateTypes } = await import('contract-engine/generate')
  const { generateClient } = await import('./client.js')
  const types = generateTypes(contract)
  const header = `// Generated from ${path.basename(file)} by \`contract-client generate\`. Do not edit.\n\n`
  const index = await readFile(path.join(import.meta.dirname, '../../template/index.ts'), 'utf8')
  const own = agent === undefined ? {} : { agent }
  return new Map([
    ['types.ts', header + types],
    ['errors.ts', header + generateErrors(contract, types, [])],
    ['client.ts', header + generateClient(contract, types, own)],
    ['index.ts', header + index],
  ])
}
