// What a start tells the person at the terminal: where the service is, and how to call it.

import { createApiKey, hashApiKey } from './auth/api-key.js'
import { customPlan, fixedPlans } from './contract/plans.js'
import type { Contract } from './contract/types.js'
import { insertFirstApiKey } from './database/api-keys.js'
import type { Database } from './database/types.js'

/** The address, and on the embedded database's first start a demo key: the only time that key is shown. */
export async function welcome(
  contract: Contract,
  { sql, embedded }: Database,
  origin: string,
): Promise<string> {
  const lines = [
    `${contract.title} ${contract.version} at ${origin}${contract.prefix}`,
    `Documentation to try it on: ${origin}/docs`,
  ]
  const key = embedded ? await demoKey(contract, sql) : undefined
  if (key !== undefined) {
    lines.push(
      `Demo key, shown this once: ${key}`,
      'Try it:',
      `  curl -i -H 'Authorization: Bearer ${key}' ${origin}${contract.prefix}${firstPath(contract)}`,
    )
  } else if (embedded) {
    const plan = fixedPlans(contract)[0]?.name ?? `${customPlan(contract)} --per-minute 60 --per-day 1000`
    lines.push(`Make a key: npm run --silent keys -- create --name me --plan ${plan}`)
  }
  return `${lines.join('\n')}\n`
}

async function demoKey(contract: Contract, sql: Database['sql']): Promise<string | undefined> {
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
    expiresAt: null,
  })
  return created ? key : undefined
}

// An operation that a bare curl can call.
function firstPath({ operations }: Contract): string {
  const simple = [...operations.values()].find(({ method, path }) => method === 'GET' && !path.includes('{'))
  return simple?.path ?? '/'
}
