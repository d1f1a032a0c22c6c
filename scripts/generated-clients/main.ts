// Clients that generators make of the contract, each in a session with a service: whether what docs/generated-clients.md says is so.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { runCommand, UsageError } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { fixedPlans } from '../../src/contract/plans.js'
import { readContract } from '../../src/contract/read.js'
import type { Contract } from '../../src/contract/types.js'
import { contractFile } from '../../src/paths.js'
import { makeTemporaryDirectory } from '../lib/directory.js'
import { type Environment, openTerms, runKeys, startService } from '../lib/service.js'
import { folderOf, type Generator, generators, missing } from './generators.js'
import { startGrown } from './grown.js'

const usage = `Usage: npm run generated-clients [-- --jar FILE] [--only WORD] [--verbose]

Makes clients of openapi.yaml with the generators whose tools are installed, in a temporary directory, and runs a session with each:
list, next page, create, read, 400, 401, 404, 429, and answers of a later version. Go needs no network; Maven, pip, npm and cargo may.

  --jar FILE    openapi-generator-cli, version 7
  --only WORD   those whose name has the word
  --verbose     what each session has seen
  --help        this

Examples:
  npm run generated-clients -- --jar openapi-generator-cli.jar

Exit codes: 0 each that was tried works, 1 one does not, 2 wrong usage, 130 interrupted.
`

const options = {
  jar: { type: 'string' },
  only: { type: 'string', default: '' },
  verbose: { type: 'boolean' },
} as const

// A step may fetch what a client depends on.
const stepTimeoutMs = 300_000

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  const { jar, only, verbose = false } = parseArgs({ args: [...args], options }).values
  const chosen = generators.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) throw new UsageError(`--only: no generator's name has ${only}`)
  const { directory, remove } = await makeTemporaryDirectory()
  const own = { DATA_DIR: path.join(directory, 'data') }
  const service = await startService(own)
  const grown = await startGrown()
  const contract = await readContract(contractFile)
  const [url, grownUrl] = [service, grown].map(({ origin }) => origin + contract.prefix)
  const addresses = { ORIGIN: service.origin, URL: url ?? '', GROWN_URL: grownUrl ?? '' }
  let failures = 0
  try {
    for (const generator of chosen) {
      const why = missing(generator, jar)
      if (why !== undefined) {
        await print(`${generator.name}: skipped: ${why}\n`)
        continue
      }
      const session = { ...addresses, ...(await makeKeys(contract, own)) }
      const said = await run(generator, path.resolve(jar ?? ''), directory, session, interruption)
      if (said.failed) failures += 1
      await print(`${generator.name}: ${said.failed ? `failed: ${said.text}` : 'works'}\n`)
      if (verbose && !said.failed) await print(said.text.replace(/^(?=.)/gm, '  '))
    }
  } finally {
    grown.close()
    await service.stop()
    await remove()
  }
  return failures === 0 ? 0 : 1
}

// A key that is not used up, one that is soon, and one for a creation.
async function makeKeys(contract: Contract, own: Environment): Promise<Environment> {
  const create = (name: string, terms: readonly string[]) =>
    runKeys(['create', '--name', name, ...terms], own)
  const [fixed] = fixedPlans(contract)
  return {
    KEY: await create('open', openTerms(contract)),
    FREE_KEY: await create('limited', ['--plan', fixed?.name ?? '']),
    IDEMPOTENCY_KEY: randomUUID(),
  }
}

/** What the session has printed, or what the step that failed said. */
async function run(
  generator: Generator,
  jar: string,
  directory: string,
  session: Environment,
  signal: AbortSignal,
): Promise<{ readonly failed: boolean; readonly text: string }> {
  const cwd = path.join(directory, generator.folder)
  await cp(folderOf(generator), cwd, { recursive: true })
  const env = { ...process.env, ...session }
  let text = ''
  for (const [command, ...args] of generator.steps(jar)) {
    try {
      text = (await promisify(execFile)(command, args, { cwd, env, signal, timeout: stepTimeoutMs })).stdout
    } catch (error) {
      signal.throwIfAborted()
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
      return { failed: true, text: `${command}: ${`${stdout}${stderr}`.trim() || message}` }
    }
  }
  return { failed: false, text }
}

runCommand(usage, main)
