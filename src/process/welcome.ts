// The message on the terminal at startup: where the service is, and how to call it.

import { withoutPrefix } from 'contract-engine/lib/base-url'
import { createApiKey, hashApiKey } from '../auth/api-key.js'
import { customPlan, fixedPlans, type ServiceContract } from '../auth/plans.js'
import { scopesOf } from '../auth/scopes.js'
import { insertFirstApiKey } from '../database/api-keys.js'
import type { Database } from '../database/database.js'

/**
 * Returns the message. At an embedded database's first startup it creates a demo key, and shows it once.
 * @param origin where the service listens
 * @param publicUrl where callers reach the operations, if that is elsewhere
 */
export async function welcome(
  contract: ServiceContract,
  { sql, embedded }: Database,
  origin: string,
  publicUrl?: string,
): Promise<string> {
  // Unknown if a gateway gives the operations another prefix.
  const root = (publicUrl && withoutPrefix(publicUrl, contract.prefix)) ?? callable(origin)
  const base = root + contract.prefix
  const lines = [
    `${contract.title} ${contract.version} at ${base}`,
    `Interactive documentation: ${root}/docs`,
  ]
  const key = embedded ? await demoKey(contract, sql) : undefined
  if (key !== undefined) {
    lines.push(
      `Demo key, shown only once: ${key}`,
      'Try it:',
      `  curl -i -w '\\n' -H 'Authorization: Bearer ${key}' ${root}${firstPath(contract)}`,
    )
  } else if (embedded) {
    const plan = fixedPlans(contract)[0]?.name ?? `${customPlan(contract)} --per-minute 60 --per-day 1000`
    lines.push(`Create a key: npm run --silent keys -- create --name me --plan ${plan}`)
  }
  return `${lines.join('\n')}\n`
}

// A server can listen on all addresses, but a client cannot call all: not everywhere, and not by this name.
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
    scopes: scopesOf(contract), // it is for trying the contract out
    expiresAt: null,
    createdBy: null,
  })
  return created ? key : undefined
}

// An operation that curl can call without parameters.
function firstPath({ prefix, operations }: ServiceContract): string {
  const simple = [...operations.values()].find(({ method, path }) => method === 'GET' && !path.includes('{'))
  return simple === undefined ? `${prefix}/` : simple.prefix + simple.path
}
