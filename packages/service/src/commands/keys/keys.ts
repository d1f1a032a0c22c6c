// Creates, lists, shows and revokes API keys in the service's database, whether the service runs or not.
// Standard output is the result alone: `create` prints only the key.

import { print } from 'contract-engine/lib/terminal'
import { pino } from 'pino'
import { serviceContract } from '../../auth/contract.js'
import { customPlan, fixedPlans, type Quotas, type ServiceContract } from '../../auth/plans.js'
import { scopesOf } from '../../auth/scopes.js'
import { connect } from '../../database/connect.js'
import { unlessAborted } from '../../lib/abort.js'
import { logBounds } from '../../lib/log-bounds.js'
import { readEnvironment, type Surroundings } from '../command.js'
import { commandLine, defaultDatabase } from '../installation.js'
import { readSubcommand } from './subcommands.js'

const usageOf = (
  plans: string,
  scopes: string,
  examples: readonly string[],
) => `Usage: keys create --name NAME --plan PLAN [--scope SCOPE]... [--expires TIME]
                   [--per-minute N --per-day N] [--by OPERATOR] [--json]
       keys list [--json]
       keys show ID [--json]
       keys revoke ID [--by OPERATOR] [--json]

  create   creates a key and prints it; it cannot be shown again
    --name        name of the client, 1 to 255 characters
    --plan        ${plans}
    --scope       ${scopes}
    --expires     date or time of expiry: 2027-01-31, or 2027-01-31T12:00:00Z
    --per-minute  requests per minute \\ both required for a plan with custom
    --per-day     requests per day    / quotas, and not allowed for others
  list     lists all keys, without their secrets, and who created and revoked them
  show     shows a key with its quotas and, with REDIS_URL, its usage
  revoke   revokes a key permanently, on every running instance within a second

  --by     who creates or revokes the key, which is stored with it; by default the user of the
           operating system
  --json   prints JSON, and logs a change as a line of JSON on standard error
  --help   prints this help

Examples:
${[...examples, `list --json | jq '.[] | select(.state == "valid") | .id'`, 'revoke 7']
  .map((args) => `  ${commandLine('keys', args)}`)
  .join('\n')}

Reads DATABASE_URL${defaultDatabase}, and REDIS_URL for the usage in show.

Exit codes: 0 success, 1 failure with the reason on standard error, 2 wrong usage, 130 interrupted.
`

const contract = serviceContract()
export const usage = await contract.then(
  (read) => usageOf(describePlans(read), describeScopes(read), examplesOf(read)),
  () => usageOf('a plan of the contract', 'a scope of the contract', []),
)

function describePlans({ rateLimits: { plans } }: ServiceContract): string {
  const all = [...plans].map(([name, quotas]) => `\n                    ${name}: ${describe(quotas)}`)
  return `a plan of the contract${all.join('')}`
}

function describeScopes(read: ServiceContract): string {
  const names = scopesOf(read)
  const list = names.length > 0 ? names.join(', ') : 'the contract has none'
  return `what the key may do, once for each scope: ${list}`
}

function describe(quotas: Quotas | 'custom'): string {
  if (quotas === 'custom') return 'custom quotas for each key'
  const { perMinute, perDay } = quotas
  return Number.isFinite(perMinute) ? `${perMinute} requests per minute, ${perDay} per day` : 'unlimited'
}

function examplesOf(read: ServiceContract): string[] {
  const [fixed] = fixedPlans(read)
  const custom = customPlan(read)
  const web = fixed && `create --name "Web shop" --plan ${fixed.name}`
  const big = custom && `create --name "Big shop" --plan ${custom} --per-minute 5000 --per-day 2000000`
  return [web, big].filter((each) => each !== undefined)
}

/** The command `keys`. */
export async function keys(args: readonly string[], surroundings: Surroundings): Promise<undefined> {
  const { stdout, stderr, interruption } = surroundings
  if (args[0] === 'help') return print(usage, stdout)
  const config = readEnvironment(surroundings)
  const subcommand = readSubcommand(args, await contract)
  const log = pino({ level: 'warn', ...logBounds }, stderr)
  const database = await connect(config, log, interruption)
  const patience = { timeoutMs: config.startTimeoutMs, log, interruption }
  try {
    await unlessAborted(subcommand(database.sql, { ...surroundings, config, patience }), interruption)
  } finally {
    await database.close(interruption)
  }
}
