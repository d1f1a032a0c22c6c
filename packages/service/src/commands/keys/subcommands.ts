// The subcommands of `keys`.

import { parseArgs } from 'node:util'
import { paintFor, print, type Stream, table } from 'contract-engine/lib/terminal'
import { stringify } from 'lossless-json'
import { type Logger, pino } from 'pino'
import { createApiKey, hashApiKey } from '../../auth/api-key.js'
import { type Client, toClient } from '../../auth/client.js'
import { rateCostMax, type ServiceContract } from '../../auth/plans.js'
import { scopesOf } from '../../auth/scopes.js'
import {
  type ApiKey,
  insertApiKey,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
} from '../../database/api-keys.js'
import type { RootSql } from '../../database/database.js'
import { beginPatiently, type Patience } from '../../database/locks.js'
import { OperatorError } from '../../lib/operator-error.js'
import { RedisCounter } from '../../rate-limit/redis.js'
import { type RedisConfig, RedisConnection } from '../../rate-limit/redis-connection.js'
import { used } from '../../rate-limit/windows.js'
import { checkName, type Surroundings, UsageError, wholeNumber } from '../command.js'
import { readOperator } from '../operator.js'

export type Subcommand = (sql: RootSql, means: Means) => Promise<void>

/** What a subcommand has of the command. */
export interface Means extends Pick<Surroundings, 'stdout' | 'stderr'> {
  readonly config: RedisConfig
  /** For sessions that hold a lock on the table of keys, whom the log then names. */
  readonly patience: Patience
}

/**
 * Parses the arguments.
 * @throws {UsageError} when they are not a subcommand's
 */
export function readSubcommand(args: readonly string[], contract: ServiceContract): Subcommand {
  const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true })
  const { json = false, ...others } = values
  const { by, ...terms } = others
  const [command, ...rest] = positionals
  if (command === 'create' && rest.length === 0)
    return create({ ...newKey(terms, contract), createdBy: readOperator(by) }, json)
  if (command === 'revoke') {
    checkNone(terms, 'revoke accepts no option other than --by and --json')
    if (rest.length === 1) return revoke(readId(rest[0]), readOperator(by), json)
  }
  checkNone(others, `${command ?? 'keys'} accepts no option other than --json`)
  if (command === 'list' && rest.length === 0) return list(json)
  if (command === 'show' && rest.length === 1) return show(readId(rest[0]), contract, json)
  throw new UsageError('Expected create, list, show ID or revoke ID')
}

function checkNone(values: object, message: string): void {
  if (Object.keys(values).length > 0) throw new UsageError(message)
}

const options = {
  name: { type: 'string' },
  plan: { type: 'string' },
  scope: { type: 'string', multiple: true },
  expires: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  by: { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = { readonly [Name in Exclude<keyof typeof options, 'by' | 'json' | 'scope'>]?: string } & {
  readonly scope?: readonly string[]
}

type KeyTerms = Omit<NewApiKey, 'hash'>

function newKey(values: Values, contract: ServiceContract): Omit<KeyTerms, 'createdBy'> {
  const { plans } = contract.rateLimits
  const { plan = '' } = values
  const name = checkName('--name', values.name ?? '')
  const quotas = plans.get(plan)
  if (quotas === undefined) throw new UsageError(`--plan must be one of ${[...plans.keys()].join(', ')}`)
  const agreed = quotas === 'custom'
  if (agreed !== (values['per-minute'] !== undefined) || agreed !== (values['per-day'] !== undefined)) {
    throw new UsageError(
      `--per-minute and --per-day are ${agreed ? 'required' : 'not allowed'} with the plan ${plan}`,
    )
  }
  return {
    name,
    plan,
    perMinute: agreed ? quota('--per-minute', values['per-minute'], rateCostMax(contract)) : null,
    perDay: agreed ? quota('--per-day', values['per-day'], rateCostMax(contract)) : null,
    scopes: readScopes(values.scope ?? [], contract),
    expiresAt: values.expires === undefined ? null : expiry(values.expires),
  }
}

function readScopes(wanted: readonly string[], contract: ServiceContract): string[] {
  const scopes = scopesOf(contract)
  const unknown = wanted.find((scope) => !scopes.includes(scope))
  if (unknown === undefined) return [...new Set(wanted)]
  if (scopes.length > 0) throw new UsageError(`--scope must be one of ${scopes.join(', ')}`)
  throw new UsageError('--scope is not allowed: no operation of the contract demands a scope')
}

// The maximum of PostgreSQL's integer.
const quotaMax = 2 ** 31 - 1

// With less than the most costly operation takes, a key could never call it.
function quota(option: string, text = '', min: number): number {
  return wholeNumber(option, text, min, quotaMax)
}

function expiry(text: string): Date {
  const date = new Date(text)
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  // Date accepts 2027-02-30 as 2027-03-02.
  const rollsOver =
    !Number.isNaN(date.getTime()) &&
    new Date(text.slice(0, 10)).toISOString().slice(0, 10) !== text.slice(0, 10)
  if (!isIso || Number.isNaN(date.getTime()) || rollsOver)
    throw new UsageError('--expires must be a date or a time such as 2027-01-31T12:00:00Z')
  if (date.getTime() <= Date.now()) throw new UsageError('--expires must be in the future')
  return date
}

function create(terms: KeyTerms, json: boolean): Subcommand {
  return async (sql, { stdout, stderr, patience }) => {
    const key = createApiKey()
    const id = await beginPatiently(sql, patience, async (transaction) => {
      const id = await insertApiKey(transaction, { ...terms, hash: hashApiKey(key) })
      if (!json) stderr.write(`Key ${id} of plan ${terms.plan}, shown only once:\n`)
      // Before the commit: a key that could not be printed is not stored.
      await print(json ? toJson({ id, key, ...terms }) : `${key}\n`, stdout)
      return id
    })
    if (json) changesOn(stderr).info({ key: id, ...terms }, 'key created')
  }
}

// For scripts, whose standard error is kept. A terminal has the other lines.
function changesOn(stderr: Stream): Logger {
  return pino({ level: 'info', base: null }, stderr)
}

function list(json: boolean): Subcommand {
  return async (sql, { stdout, patience }) => {
    const keys = await beginPatiently(sql, patience, listApiKeys)
    const text = () => toJson(keys.map((key) => ({ ...key, state: state(key) })))
    await print(json ? text() : keyTable(keys, stdout), stdout)
  }
}

// The maximum of PostgreSQL's bigint.
const idMax = 2n ** 63n - 1n

function readId(text = ''): bigint {
  if (/^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= idMax) return BigInt(text)
  throw new UsageError(`${JSON.stringify(text)} is not a key ID: see keys list`)
}

function revoke(id: bigint, by: string, json: boolean): Subcommand {
  return async (sql, { stdout, stderr, patience }) => {
    const revocation = await beginPatiently(sql, patience, (transaction) => revokeApiKey(transaction, id, by))
    if (revocation === undefined) throw new OperatorError(`There is no key ${id}.`)
    const { isFirst, revokedAt, revokedBy } = revocation
    if (json && isFirst) changesOn(stderr).info({ key: id, revokedBy }, 'key revoked')
    const text = isFirst
      ? `Key ${id} is revoked.\n`
      : `Key ${id} was already revoked: ${timeAndOperator(revokedAt, revokedBy)}.\n`
    await print(json ? toJson({ id, state: 'revoked', revokedAt, revokedBy }) : text, stdout)
  }
}

function show(id: bigint, contract: ServiceContract, json: boolean): Subcommand {
  return async (sql, { stdout, config, patience }) => {
    const key = (await beginPatiently(sql, patience, listApiKeys)).find((each) => each.id === id)
    if (key === undefined) throw new OperatorError(`There is no key ${id}.`)
    const client = toClient(key, '', contract) // of any scheme: it is counted by the id of its key
    const { redisUrl } = config
    const used = redisUrl === undefined ? null : await readUsage(client, contract, redisUrl, config)
    const { quotas } = client
    const amount = (name: 'minute' | 'day') =>
      used?.[name] ?? 'unknown: without REDIS_URL each instance counts for itself'
    const text = `${keyTable([key], stdout)}
Per minute  ${quotas.perMinute}, used: ${amount('minute')}
Per day     ${quotas.perDay}, used: ${amount('day')}
`
    await print(json ? toJson({ ...key, state: state(key), quotas, used }) : text, stdout)
  }
}

// stringify of lossless-json writes bigint ids exactly.
function toJson(value: unknown): string {
  return `${stringify(value, undefined, 2)}\n`
}

// Reads the requests counted in the current minute and day.
async function readUsage(
  client: Client,
  { title, rateLimits }: ServiceContract,
  redisUrl: string,
  config: RedisConfig,
): Promise<{ minute: number; day: number }> {
  const connection = new RedisConnection(redisUrl, title, config, quiet)
  try {
    await connection.open()
    if (!connection.isUp) throw new OperatorError('Redis does not answer at REDIS_URL.')
    const counter = new RedisCounter(connection.redis, rateLimits.ban)
    const { minute, day } = await counter.read(client)
    return { minute: used(minute), day: used(day) }
  } finally {
    connection.close()
  }
}

const quiet = pino({ level: 'silent' })

function keyTable(keys: readonly ApiKey[], stdout: Stream): string {
  if (keys.length === 0) return 'There are no keys yet.\n'
  const haveScopes = keys.some(({ scopes }) => scopes.length > 0)
  const rows = keys.map((key) => [
    String(key.id),
    key.name,
    planOf(key),
    ...(haveScopes ? [key.scopes.join(' ') || '-'] : []),
    timeAndOperator(key.createdAt, key.createdBy),
    iso(key.expiresAt),
    { text: stateOf(key), style: state(key) === 'valid' ? 'green' : 'dim' } as const,
  ])
  const terms = ['ID', 'NAME', 'PLAN', ...(haveScopes ? ['SCOPES'] : [])]
  return table([...terms, 'CREATED', 'EXPIRES', 'STATE'], rows, paintFor(stdout), stdout.columns)
}

function planOf({ plan, perMinute, perDay }: ApiKey): string {
  return perMinute === null ? plan : `${plan} ${perMinute}/min ${perDay}/day`
}

function stateOf(key: ApiKey): string {
  return key.revokedAt === null ? state(key) : `revoked ${timeAndOperator(key.revokedAt, key.revokedBy)}`
}

function timeAndOperator(time: Date, operator: string | null): string {
  return operator === null ? iso(time) : `${iso(time)} by ${operator}`
}

function state({ revokedAt, expiresAt }: ApiKey): 'revoked' | 'expired' | 'valid' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? 'expired' : 'valid'
}

function iso(date: Date | null): string {
  return date === null ? '-' : date.toISOString().replace(/\.\d+/, '')
}
