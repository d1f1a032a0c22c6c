// The fuzzer: property-based testing of the service against openapi.yaml. It generates valid and hostile requests and checks each response.

import { runCommand } from '../../src/commands/command.js'
import { print } from '../../src/commands/terminal.js'
import { unlessAborted } from '../../src/lib/abort.js'
import { contractFile } from '../../src/lib/paths.js'
import { fixedPlans, readContract } from '../../src/openapi/index.js'
import { hasEnded } from '../lib/child.js'
import { inTemporaryDirectory } from '../lib/directory.js'
import { type Environment, openTerms, runKeys, type Service, startService } from '../lib/service.js'
import { readArguments } from './arguments.js'
import { readFuzzContract } from './contract.js'
import type { Keys, Target } from './requests.js'
import { type Failure, type FuzzResult, fuzz } from './run.js'

const usage = `Usage: npm run fuzz -- [--requests N] [--seed S] [--url URL --key KEY]

Generates requests for every operation of openapi.yaml, valid and mutated, and checks every response against it.
Each distinct failure is shrunk to a minimal request and printed as a command that reproduces it.

  --requests  number of requests; default 10000
  --seed      a whole number; the same seed generates the same requests; default 1
  --url       a running service, such as http://127.0.0.1:3000; by default one is started with a temporary database
  --key       an API key of that service with sufficient quotas
  --help      print this help

Examples:
  npm run fuzz -- --requests 100000 --seed 7
  npm run fuzz -- --url http://127.0.0.1:3000 --key ask_...

Exit codes: 0 no failures, 1 failures, 2 wrong usage, 130 interrupted.
`

async function main(args: readonly string[], interruption: AbortSignal): Promise<number> {
  const { requests, seed, service } = readArguments(args)
  const contract = await readFuzzContract(contractFile)
  const attack = async (target: Target) => {
    const result = await unlessAborted(fuzz({ ...target, contract, requests, seed }), interruption)
    await print(summary(result, seed))
    return result.failures.map(describe)
  }
  const problems = service === undefined ? await onOwnService(attack) : await attack(service)
  for (const problem of problems) await print(`\n${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

function describe({ problem, request, curl }: Failure): string {
  const mutations = request.mutations.length > 0 ? ` (${request.mutations.join('; ')})` : ''
  return `${request.operation || 'no operation'}: ${problem}${mutations}\n  ${curl}`
}

function summary({ requests, seconds, statuses, failures }: FuzzResult, seed: number): string {
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  const rate = Math.round(requests / seconds)
  return `${requests} requests with seed ${seed} in ${seconds.toFixed(1)} s, ${rate} requests/s
responses by status: ${counts.join(', ')}
distinct failures: ${failures.length}
`
}

// Starts a service, and adds the problems that it has to those that its responses have.
function onOwnService(attack: (target: Target) => Promise<string[]>): Promise<string[]> {
  return inTemporaryDirectory(async (directory) => {
    const environment = { DATA_DIR: directory, LOG_LEVEL: 'error', TRUST_PROXY: 'true' }
    const service = await startService(environment)
    try {
      const problems = await attack({ origin: service.origin, keys: await createKeys(environment) })
      return [...problems, ...(await stopService(service))]
    } finally {
      await service.stop()
    }
  })
}

async function createKeys(environment: Environment): Promise<Keys> {
  const contract = await readContract(contractFile)
  const create = async (name: string, terms: readonly string[]) => {
    const created = await runKeys(['create', '--name', name, ...terms, '--json'], environment)
    return JSON.parse(created) as { readonly id: number; readonly key: string }
  }
  const [fixed] = fixedPlans(contract)
  const limited = fixed && (await create('limited', ['--plan', fixed.name]))
  const revoked = await create('revoked', openTerms(contract))
  await runKeys(['revoke', String(revoked.id)], environment)
  const open = await create('open', openTerms(contract))
  return { open: open.key, revoked: revoked.key, ...(limited && { limited: limited.key }) }
}

async function stopService({ child, log, stop }: Service): Promise<string[]> {
  const crashed = hasEnded(child)
  const code = await stop()
  return [
    ...(crashed ? ['the service crashed'] : []),
    ...(code === 0 ? [] : [`the service exited with ${code}`]),
    ...log.slice(0, 10).map((line) => `the service logged an error: ${line}`),
  ]
}

runCommand(usage, main)
