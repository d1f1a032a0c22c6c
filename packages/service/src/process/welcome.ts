// The message on the terminal at startup: the address of the service, and how to call it.

import { withoutPrefix } from 'contract-engine/lib/base-url'
import { createApiKey, hashApiKey } from '../auth/api-key.js'
import { schemesOfKeys } from '../auth/api-keys.js'
import type { AnyCheckFactory } from '../auth/checks.js'
import { customPlan, fixedPlans, type ServiceContract } from '../auth/plans.js'
import { scopesOf } from '../auth/scopes.js'
import { insertFirstApiKey } from '../database/api-keys.js'
import type { Database } from '../database/database.js'
import { firstCall } from './first-call.js'

/** The address of the service, and the checks of its callers. */
export interface Place {
  /** The origin at which it listens. */
  readonly origin: string
  /** The URL at which callers reach the operations, if that differs. */
  readonly publicUrl?: string | undefined
  /** The checks of the security schemes. */
  readonly schemes: Readonly<Record<string, AnyCheckFactory>>
}

/**
 * Returns the message. At the first startup with an embedded database, creates a demo key and shows it once,
 * if the contract has a scheme of keys.
 */
export async function welcome(
  contract: ServiceContract,
  { sql, embedded }: Database,
  { origin, publicUrl, schemes }: Place,
): Promise<string> {
  // `withoutPrefix` returns undefined if a gateway gives the operations another prefix.
  const root = (publicUrl && withoutPrefix(publicUrl, contract.prefix)) ?? callable(origin)
  const base = root + contract.prefix
  const lines = [
    `${contract.title} ${contract.version} at ${base}`,
    `Interactive documentation: ${root}/docs`,
  ]
  if (!embedded) return `${lines.join('\n')}\n`
  const ofKeys = keySchemes(contract, schemes)
  const key = ofKeys.size > 0 ? await demoKey(contract, sql) : undefined
  if (key !== undefined) lines.push(`Demo key, shown only once: ${key}`)
  else if (ofKeys.size > 0)
    lines.push(`Create a key: npm run --silent keys -- create --name me --plan ${planOf(contract)}`)
  const call = firstCall(contract, root, ofKeys, key)
  if (call !== undefined && 'curl' in call) lines.push('Try it:', `  ${call.curl}`)
  // Not at later starts: whoever has a key has used it.
  else if (call !== undefined && (key !== undefined || ofKeys.size === 0))
    lines.push(`To try it, ${call.needs}`)
  return `${lines.join('\n')}\n`
}

// Returns the schemes of keys that operations use.
function keySchemes({ operations }: ServiceContract, schemes: Place['schemes']): ReadonlySet<string> {
  const named = new Set(
    [...operations.values()].flatMap(({ security }) => security.flat().map(({ name }) => name)),
  )
  return new Set([...schemesOfKeys(schemes)].filter((name) => named.has(name)))
}

function planOf(contract: ServiceContract): string {
  return fixedPlans(contract)[0]?.name ?? `${customPlan(contract)} --per-minute 60 --per-day 1000`
}

// Replaces the address that means all addresses, because not every client can call it.
function callable(origin: string): string {
  return origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}

async function demoKey(contract: ServiceContract, sql: Database['sql']): Promise<string | undefined> {
  const plan = fixedPlans(contract)[0]?.name
  if (plan === undefined) return undefined
  const key = createApiKey()
  const hash = hashApiKey(key)
  const created = await insertFirstApiKey(sql, {
    hash,
    name: 'demo',
    plan,
    perMinute: null,
    perDay: null,
    scopes: scopesOf(contract), // all, because the key is for trying the contract out
    expiresAt: null,
    createdBy: null,
  })
  return created ? key : undefined
}
