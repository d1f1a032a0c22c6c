// openapi.yaml -> generated/: the types of its schemas, what each operation takes and may answer, and the map
// of its handlers. `--check` writes nothing and fails on stale files.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ContractError, readContract } from '../src/contract/document.js'
import { contractFile, projectRoot } from '../src/project.js'
import { generateHandlers } from './generate/handlers.js'
import { lintContract } from './generate/lint.js'
import { generateOperations } from './generate/operations.js'
import { generateTypes } from './generate/types.js'

const usage = `Usage: npm run generate [-- --check]

Writes generated/ from openapi.yaml.

  --check  write nothing; exit 1 and name each stale file
`

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, help: { type: 'boolean' } } })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const problems = await lintContract(contractFile)
  if (problems.length > 0) throw new ContractError(problems.join('\n'))
  const contract = readContract(contractFile)
  const files = new Map([
    ['types.ts', await generateTypes(contractFile)],
    ['operations.ts', generateOperations(contract)],
    ['handlers.ts', generateHandlers(contract)],
  ])
  const folder = path.join(projectRoot, 'generated')
  const stale = await staleFiles(folder, files)
  for (const name of stale)
    process.stdout.write(`generated/${name} ${values.check ? 'is stale' : 'written'}\n`)
  if (values.check) {
    if (stale.length > 0) process.stderr.write('Run npm run generate.\n')
    return stale.length > 0 ? 1 : 0
  }
  if (stale.length === 0) process.stdout.write('generated/ is up to date\n')
  await write(folder, files, stale)
  return 0
}

// Files that differ from what would be written, and files that would not be written at all.
async function staleFiles(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const present = await readdir(folder).catch(() => [])
  const names = [...new Set([...files.keys(), ...present])]
  const contents = await Promise.all(
    names.map((name) => readFile(path.join(folder, name), 'utf8').catch(() => undefined)),
  )
  return names.filter((name, i) => contents[i] !== files.get(name))
}

async function write(
  folder: string,
  files: ReadonlyMap<string, string>,
  names: readonly string[],
): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of names) {
    const content = files.get(name)
    const file = path.join(folder, name)
    await (content === undefined ? rm(file) : writeFile(file, content))
  }
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    process.stderr.write(`${error instanceof ContractError ? error.message : error.stack}\n`)
    process.exitCode = 1
  },
)
