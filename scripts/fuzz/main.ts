// The contract as a fuzzer: requests made from openapi.yaml, valid and hostile, each answer held to the document.

import { runCommand } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { fixedPlans } from '../../src/contract/plans.js'
import { readContract } from '../../src/contract/read.js'
import { unlessAborted } from '../../src/lib/abort.js'
import { contractFile } from '../../src/paths.js'
import { hasEnded } from '../lib/child.js'
import { makeTemporaryDirectory } from '../lib/directory.js'
import { type Environment, openTerms, runKeys, type Service, startService } from '../lib/service.js'
import { readArguments } from './arguments.js'
import { readFuzzContract } from './contract.js'
import type { Keys } from './requests.js'
import { type Failure, type FuzzResult, fuzz } from './run.js'

const usage = `Usage: npm run fuzz -- [--requests N] [--seed S] [--url URL --key KEY]

Sends requests for every operation of openapi.yaml, as it wants them and as it does not, and checks every answer against it.
Each kind of failure is shrunk to a small request and printed as a command that sends it again.

  --requests  how many, 10000 unless told
  --seed      a whole number: the same one makes the same requests; 1 unless told
  --url       a service that runs, such as http://127.0.0.1:3000; without it one is started on a database of its own
  --key       a key of that service with quotas that suffice
  --help      this

Examples:
  npm run fuzz -- --requests 100000 --seed 7
  npm run fuzz -- --url http://127.0.0.1:3000 --key ask_...

Exit codes: 0 no failure, 1 failures, 2 wrong usage, 130 interrupted.
`

/** A service to send to, and what to do at the end: it says what went wrong in the service itself. */
interface Target {
  readonly origin: string
  readonly keys: Keys
  end(): Promise<string[]>
}

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  const { requests, seed, service } = readArguments(args)
  const target = service === undefined ? await startTarget() : { ...service, end: async () => [] }
  let problems: string[] = []
  try {
    const contract = readFuzzContract(contractFile)
    const result = await unlessAborted(fuzz({ ...target, contract, requests, seed }), interruption)
    problems = result.failures.map(inWords)
    await print(summary(result, seed))
  } finally {
    problems.push(...(await target.end()))
  }
  for (const problem of problems) await print(`\n${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

function inWords({ problem, request, curl }: Failure): string {
  const mutations = request.mutations.length > 0 ? ` (${request.mutations.join('; ')})` : ''
  return `${request.operation || 'no operation'}: ${problem}${mutations}\n  ${curl}`
}

function summary({ requests, seconds, statuses, failures }: FuzzResult, seed: number): string {
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  const rate = Math.round(requests / seconds)
  return `${requests} requests with seed ${seed} in ${seconds.toFixed(1)} s, ${rate} a second
answers by status: ${counts.join(', ')}
${failures.length} kinds of failure
`
}

async function startTarget(): Promise<Target> {
  const { directory, remove } = await makeTemporaryDirectory()
  const environment = { DATA_DIR: directory, LOG_LEVEL: 'error', TRUST_PROXY: 'true' }
  let service: Service | undefined
  const end = async () => {
    const problems = service === undefined ? [] : await endService(service)
    await remove()
    return problems
  }
  try {
    service = await startService(environment)
    return { origin: service.origin, keys: await createKeys(environment), end }
  } catch (error) {
    await end()
    throw error
  }
}

async function createKeys(environment: Environment): Promise<Keys> {
  const contract = await readContract(contractFile)
  const create = async (name: string, terms: readonly string[]) => {
    const made = await runKeys(['create', '--name', name, ...terms, '--json'], environment)
    return JSON.parse(made) as { readonly id: number; readonly key: string }
  }
  const [fixed] = fixedPlans(contract)
  const limited = fixed && (await create('limited', ['--plan', fixed.name]))
  const revoked = await create('revoked', openTerms(contract))
  await runKeys(['revoke', String(revoked.id)], environment)
  const open = await create('open', openTerms(contract))
  return { open: open.key, revoked: revoked.key, ...(limited && { limited: limited.key }) }
}

async function endService({ child, log, stop }: Service): Promise<string[]> {
  const crashed = hasEnded(child)
  const code = await stop()
  return [
    ...(crashed ? ['the service crashed'] : []),
    ...(code === 0 ? [] : [`the service ended with ${code}`]),
    ...log.slice(0, 10).map((line) => `the service logged an error: ${line}`),
  ]
}

runCommand(usage, main)
