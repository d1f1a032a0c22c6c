// Fuzzes the built service with Schemathesis: it generates valid and invalid requests from the contract, and
// checks each response against it.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { readServiceContract } from '../../src/auth/plans.js'
import { runProcess, type Surroundings, wholeNumber } from '../../src/commands/command.js'
import { OperatorError } from '../../src/lib/operator-error.js'
import { contractFile, projectRoot } from '../../src/lib/paths.js'
import { inTemporaryDirectory } from '../lib/directory.js'
import { keyCredentials } from '../lib/key-credentials.js'
import { readSchemes } from '../lib/schemes.js'
import { type Environment, openTerms, runKeys, type Service, startService } from '../lib/service.js'
import { installWithoutQuotas } from './installation.js'

const requirements = 'node_modules/contract-service/tools/fuzz/requirements.txt'
const installation = `Install it with \`pip install -r ${requirements}\` in a virtual environment, or install uv.`

const usage = `Usage: npm run fuzz -- [--max-examples N] [--seed S]

Runs Schemathesis on the built service, with a temporary database and without quotas. It generates requests
for every operation of openapi.yaml, valid and invalid, and checks each response: status, headers, media type,
body. A failure is shrunk, and printed as a curl command.

  --max-examples  the most requests generated for an operation, in each phase that generates; default 300
  --seed          a whole number; the same seed generates the same requests; default 1
  --help          print this help

${installation}

Examples:
  npm run fuzz
  npm run fuzz -- --max-examples 5000 --seed 7

Exit codes: 0 no failures, 1 failures, 2 wrong usage, 130 interrupted.
`

const folder = path.join(import.meta.dirname, '../../../tools/fuzz')

async function main(args: readonly string[], { interruption }: Surroundings): Promise<number> {
  const generation = readGeneration(args)
  const schemathesis = findSchemathesis()
  const contract = await readServiceContract(contractFile)
  return inTemporaryDirectory(async (directory) => {
    const environment = { DATA_DIR: path.join(directory, 'data'), LOG_LEVEL: 'error' }
    await installWithoutQuotas(directory)
    const service = await startService(environment, directory)
    try {
      const terms = openTerms(contract)
      const key = await runKeys(['create', '--name', 'fuzz', ...terms], environment, directory)
      const { headers } = keyCredentials(key, await readSchemes(projectRoot), contract)
      const sent = Object.entries(headers).map(([name, value]) => `--header=${name}: ${value}`)
      const address = [`${service.origin}/openapi.json`, `--url=${service.origin}${contract.prefix}`]
      const env = { HYPOTHESIS_STORAGE_DIRECTORY: directory, PYTHONDONTWRITEBYTECODE: '1' }
      const code = await run([...schemathesis, 'run', ...address, ...sent, ...generation], env, interruption)
      return (await stopAndReport(service)) ? code : 1
    } finally {
      await service.stop()
    }
  })
}

/** @throws {UsageError} */
function readGeneration(args: readonly string[]): readonly string[] {
  const text = { type: 'string' } as const
  const options = { 'max-examples': text, seed: text }
  const { 'max-examples': examples = '300', seed = '1' } = parseArgs({ args: [...args], options }).values
  return [
    `--max-examples=${wholeNumber('--max-examples', examples, 1, 10_000_000)}`,
    `--seed=${wholeNumber('--seed', seed, 0, 2 ** 32 - 1)}`,
  ]
}

// True if the service logged no error and stopped with exit code 0.
async function stopAndReport({ log, stop }: Service): Promise<boolean> {
  const code = await stop()
  const problems = [...log.slice(0, 10), ...(code === 0 ? [] : [`exit ${code}`])]
  for (const problem of problems) await print(`the service: ${problem}\n`)
  return problems.length === 0
}

// Prefers an installed Schemathesis. Otherwise uv runs the required versions, but does not compare hashes.
function findSchemathesis(): readonly string[] {
  if (runs('schemathesis')) return ['schemathesis']
  if (runs('uvx')) return ['uvx', '--with-requirements', 'requirements.txt', 'schemathesis']
  throw new OperatorError(`Schemathesis is not installed. ${installation}`)
}

function runs(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
}

// Resolves with the exit code of the program.
async function run(
  [program = '', ...args]: readonly string[],
  env: Environment,
  signal: AbortSignal,
): Promise<number> {
  const options = { cwd: folder, env: { ...process.env, ...env }, stdio: 'inherit', signal } as const
  const [code] = await once(spawn(program, args, options), 'exit')
  return code ?? 1
}

runProcess(usage, main)
