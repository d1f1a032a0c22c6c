// How much of its windows a key has used, for `npm run keys -- show`. Shared counts are in Redis; those of a process
// are asked of every instance over PostgreSQL, where they all meet, and added up.

import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Client } from '../auth/client.js'
import type { RootSql } from '../database/types.js'
import type { Counters } from './counters.js'

/** Requests counted in the minute and the day that are open now. */
export interface Usage {
  readonly minute: number
  readonly day: number
}

// A question holds the client and the channel for the answers.
interface Question {
  readonly answers: string
  readonly client: Client
}

const questions = 'animal_store_usage'
const answersTimeoutMs = 1_000

/** What the counters say of a client, without counting. */
export async function readUsage(counters: Counters, client: Client): Promise<Usage> {
  return counters.run(async (limiters) => {
    const { minute, day } = await limiters.look(client)
    return { minute: minute.max - minute.remaining, day: day.max - day.remaining }
  })
}

/** Has this process answer questions about its counts until its connections end. */
export async function answerUsage(sql: RootSql, counters: Counters): Promise<void> {
  const answer = async (payload: string) => {
    const { answers, client }: Question = JSON.parse(payload)
    await sql.notify(answers, JSON.stringify(await readUsage(counters, client)))
  }
  // The asker has a deadline, so a failure needs no answer.
  await sql.listen(questions, (payload) => void answer(payload).catch(() => {}))
}

/** Asks every instance, and adds up what they answer within a second. */
export async function askUsage(sql: RootSql, client: Client): Promise<Usage> {
  const [row] = await sql<{ instances: number }[]>`
    select count(*)::int as instances
    from pg_stat_activity
    where datname = current_database() and query = ${`listen "${questions}"`}`
  const answers = `${questions}_${randomBytes(6).toString('hex')}`
  const usages = await collect(sql, answers, row?.instances ?? 0, () =>
    sql.notify(questions, JSON.stringify({ answers, client })),
  )
  const sum = (part: keyof Usage) => usages.reduce((total, usage) => total + usage[part], 0)
  return { minute: sum('minute'), day: sum('day') }
}

async function collect(
  sql: RootSql,
  channel: string,
  count: number,
  ask: () => Promise<unknown>,
): Promise<Usage[]> {
  const usages: Usage[] = []
  if (count === 0) return usages
  const controller = new AbortController()
  const { unlisten } = await sql.listen(channel, (payload) => {
    usages.push(JSON.parse(payload))
    if (usages.length === count) controller.abort()
  })
  await ask()
  // Ends early by the last answer.
  await setTimeout(answersTimeoutMs, undefined, { signal: controller.signal }).catch(() => {})
  await unlisten()
  return usages
}
