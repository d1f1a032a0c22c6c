// Generates clients from the contract and runs a session with each, to verify README.md.

import { type ExecFileOptions, execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { print } from 'contract-engine/lib/terminal'
import { fixedPlans, readServiceContract, type ServiceContract } from 'contract-service/internal/auth/plans'
import { runProcess, type Surroundings, UsageError } from 'contract-service/internal/commands/command'
import { contractFile } from 'contract-service/internal/lib/paths'
import { inTemporaryDirectory } from 'contract-service/tools/lib/directory'
import { type Environment, openTerms, runKeys, startService } from 'contract-service/tools/lib/service'
import { startFutureService } from './future-service.js'
import { folderOf, generators, missing, type Step } from './generators.js'

const usage = `Usage: npm run generated-clients [-- --jar FILE] [--only WORD] [--verbose]

Generates clients from openapi.yaml with the installed generators, in a temporary directory, and runs a
session with each: list, next page, create, read, 400, 401, 404, 429, and responses of a future version.
Maven, pip, npm and cargo may need a network; Go does not.

  --jar FILE    openapi-generator-cli, version 7
  --only WORD   only generators whose name contains WORD
  --verbose     print the output of each session
  --help        print this help

Examples:
  npm run generated-clients -- --jar openapi-generator-cli.jar

Exit codes: 0 all sessions passed, 1 a session failed, 2 wrong usage, 130 interrupted.
`

const options = {
  jar: { type: 'string' },
  only: { type: 'string', default: '' },
  verbose: { type: 'boolean' },
} as const

// Long, because a step may download dependencies, and compile a client with each of several generators.
const stepTimeoutMs = 1_800_000

async function main(args: readonly string[], { interruption }: Surroundings): Promise<number> {
  const { jar, only, verbose = false } = parseArgs({ args: [...args], options }).values
  const chosen = generators.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) throw new UsageError(`--only: no generator's name contains ${only}`)
  const contract = await readServiceContract(contractFile)
  let failures = 0
  await inTemporaryDirectory(async (directory) => {
    const own = { DATA_DIR: path.join(directory, 'data') }
    const service = await startService(own)
    const future = await startFutureService()
    const addresses = {
      ORIGIN: service.origin,
      URL: service.origin + contract.prefix,
      FUTURE_URL: future.origin + contract.prefix,
    }
    try {
      for (const generator of chosen) {
        const reason = missing(generator, jar)
        if (reason !== undefined) {
          await print(`${generator.name}: skipped: ${reason}\n`)
          continue
        }
        const env = { ...process.env, ...addresses, ...(await makeKeys(contract, own)) }
        const cwd = path.join(directory, path.basename(folderOf(generator)))
        await cp(folderOf(generator), cwd, { recursive: true })
        const steps = generator.steps(path.resolve(jar ?? ''))
        const { failed, text } = await run(steps, { cwd, env, signal: interruption, timeout: stepTimeoutMs })
        if (failed) failures += 1
        await print(`${generator.name}: ${failed ? `failed: ${text}` : 'works'}\n`)
        if (verbose && !failed) await print(text.replace(/^(?=.)/gm, '  '))
      }
    } finally {
      future.close()
      await service.stop()
    }
  })
  return failures === 0 ? 0 : 1
}

// An API key with a large quota, one with a small quota, and an idempotency key.
async function makeKeys(contract: ServiceContract, own: Environment): Promise<Environment> {
  const create = (name: string, terms: readonly string[]) =>
    runKeys(['create', '--name', name, ...terms], own)
  const [fixed] = fixedPlans(contract)
  return {
    KEY: await create('open', openTerms(contract)),
    FREE_KEY: await create('limited', ['--plan', fixed?.name ?? '']),
    IDEMPOTENCY_KEY: randomUUID(),
  }
}

// Returns the output of the session, or of the step that failed.
async function run(
  steps: readonly Step[],
  options: ExecFileOptions & { readonly signal: AbortSignal },
): Promise<{ readonly failed: boolean; readonly text: string }> {
  let text = ''
  for (const [command, ...args] of steps) {
    try {
      text = (await promisify(execFile)(command, args, { ...options, encoding: 'utf8' })).stdout
    } catch (error) {
      options.signal.throwIfAborted()
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
      return { failed: true, text: `${command}: ${`${stdout}${stderr}`.trim() || message}` }
    }
  }
  return { failed: false, text }
}

runProcess(usage, main)
