#!/usr/bin/env node
// Makes, lists and revokes API keys, in the database that the service uses, while it runs or not. Standard
// output is the result alone: `create` prints the key and nothing else.

import { pino } from 'pino'
import { customPlan, fixedPlans } from '../contract/plans.js'
import { readContract } from '../contract/read.js'
import type { Contract, Quotas } from '../contract/types.js'
import { connect } from '../database/connect.js'
import { unlessAborted } from '../lib/abort.js'
import { contractFile, migrationsFolder } from '../paths.js'
import { readEnvironment, runCommand } from './command.js'
import { readSubcommand } from './keys/subcommands.js'
import { print } from './terminal.js'

const usage = (
  plans: string,
  examples: string,
) => `Usage: keys create --name NAME --plan PLAN [--expires TIME] [--per-minute N --per-day N] [--json]
       keys list [--json]
       keys show ID [--json]
       keys revoke ID [--json]

  create   makes a key and prints it, this once, on standard output
    --name        whose key it is, 1 to 255 characters
    --plan        ${plans}
    --expires     when it ends: 2027-01-31, or 2027-01-31T12:00:00Z
    --per-minute  requests a minute \\ for a plan whose quotas are agreed
    --per-day     requests a day    / per key, and for no other
  list     shows every key, never the secret
  show     one key, with its quotas and, where instances count in Redis, what it has used of them
  revoke   ends a key for good, on every running instance within a second

  --json   the same for scripts
  --help   this

Examples:
${examples}  npm run --silent keys -- list --json | jq '.[] | select(.state == "valid") | .id'
  npm run --silent keys -- revoke 7

It uses DATABASE_URL, or without it the embedded database in DATA_DIR, and REDIS_URL for the counts of show.

Exit codes: 0 done, 1 not done, and why is said on standard error, 2 wrong usage, 130 interrupted.
`

const contract = readContract(contractFile)
const help = await contract.then(
  (read) => usage(plansOf(read), examplesOf(read)),
  () => usage('a plan of the contract', ''),
)

function plansOf({ rateLimits: { plans } }: Contract): string {
  const all = [...plans].map(([name, quotas]) => `\n                    ${name}: ${inWords(quotas)}`)
  return `a plan of the contract${all.join('')}`
}

function inWords(quotas: Quotas | 'custom'): string {
  if (quotas === 'custom') return 'agreed per key'
  const { perMinute, perDay } = quotas
  return Number.isFinite(perMinute) ? `${perMinute} a minute, ${perDay} a day` : 'as many requests as come'
}

function examplesOf(read: Contract): string {
  const create = 'npm run --silent keys -- create --name'
  const [fixed] = fixedPlans(read)
  const custom = customPlan(read)
  const web = fixed === undefined ? '' : `  ${create} "Web shop" --plan ${fixed.name}\n`
  const big =
    custom === undefined
      ? ''
      : `  ${create} "Big shop" --plan ${custom} --per-minute 5000 --per-day 2000000\n`
  return web + big
}

async function main(args: readonly string[], interruption: AbortSignal): Promise<undefined> {
  if (args[0] === 'help') {
    await print(help)
    return
  }
  const config = readEnvironment()
  const subcommand = readSubcommand(args, await contract)
  const log = pino({ level: 'warn' }, process.stderr)
  const database = await connect({ ...config, migrationsFolder, log, interruption })
  try {
    await unlessAborted(subcommand(database.sql, print, config), interruption)
  } finally {
    await database.close(interruption)
  }
}

runCommand(help, main)
