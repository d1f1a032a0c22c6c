// Statements that fail in their middle, behind rows that are sent already. Each response is compared with
// what its request asked for.

import { createApiKey, hashApiKey } from 'contract-service/internal/auth/api-key'
import { customPlan, readServiceContract } from 'contract-service/internal/auth/plans'
import { insertApiKey } from 'contract-service/internal/database/api-keys'
import type { RootSql } from 'contract-service/internal/database/database'
import { contractFile } from 'contract-service/internal/lib/paths'
import { type Environment, type Outcome, type Report, unless } from '../environment.js'
import { type Replication, urlOf } from '../replication.js'
import { readAndCreated, withService } from './parts.js'
import { withReplication } from './replication.js'

/** How statements are made to fail. */
interface Disturbance {
  readonly name: string
  begin?(replication: Replication): Promise<unknown>
  /** Repeated until the time is over. */
  repeat?(replication: Replication): Promise<unknown>
  end?(replication: Replication): Promise<unknown>
}

const disturbances: readonly Disturbance[] = [
  {
    name: 'cancelled',
    repeat: ({ primary, standby }) => Promise.all([cancel(primary.sql), cancel(standby.sql)]),
  },
  {
    name: 'in conflict with recovery',
    begin: async ({ standby }) => {
      await standby.sql`alter system set max_standby_streaming_delay = 0`
      await standby.sql`select pg_reload_conf()`
    },
    repeat: async ({ primary }) => {
      await primary.sql`update pets set name = name where name like 'of all %' and id % 7 = 0`
      await primary.sql`vacuum pets`
    },
  },
  {
    name: 'that compute what cannot be computed',
    begin: ({ primary }) => primary.sql.unsafe(breakRow),
    end: ({ primary }) => primary.sql.unsafe(mendRow),
  },
]

const cancel = (sql: RootSql) => sql`
  select pg_cancel_backend(pid) from pg_stat_activity
  where application_name = 'animal-store' and state = 'active'`

// In the middle of those that all read. Statements sent together are one transaction.
const broken = 500
const breakRow = `
  alter table pets rename to stored_pets;
  create view pets as
    select id, name, case when name = 'of all ${broken}' then 1 / (id - id) else category_id end as category_id, status
    from stored_pets;
  create function store_pet() returns trigger language plpgsql as $$
    begin
      insert into stored_pets (name, category_id, status) values (new.name, new.category_id, new.status)
      returning id into new.id;
      return new;
    end $$;
  create trigger store_pet instead of insert on pets for each row execute function store_pet()`
const mendRow = `
  drop view pets;
  drop function store_pet;
  alter table stored_pets rename to pets`

/**
 * Makes statements of all kinds fail in their middle, each way for so long. Whatever a response says of an
 * animal, a page or a quota must be that of its request: else it is 503, or 500 for the animal that cannot be
 * computed.
 */
export function failInMiddle(environment: Environment, forMs: number): Promise<Report> {
  const names = disturbances.map(({ name }) => name).join(', ')
  const title = `statements of the database ${names}, ${forMs} ms each`
  return withReplication(environment, false, async (replication, key) => {
    const { primary, standby } = replication
    const env = { DATABASE_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) }
    const own = environment.on({ key, sql: primary.sql, env }, { mayReadStale: true })
    const first = await fill(primary.sql)
    const keys = await addKeys(primary.sql)
    await replication.caughtUp()
    return withService(own, title, {}, async ({ origin, load, ledger }) => {
      const callers = new Callers(own, origin, first, keys)
      for (const each of disturbances) {
        await readAndCreated(own, ledger)
        await each.begin?.(replication)
        await callers.callWhile(untilOver(own, forMs, () => each.repeat?.(replication)))
        await each.end?.(replication)
      }
      await readAndCreated(own, ledger)
      await load.stop()
      return callers.outcome()
    })
  })
}

async function untilOver(
  environment: Environment,
  forMs: number,
  repeat: () => Promise<unknown> | undefined,
): Promise<void> {
  const end = performance.now() + forMs
  while (performance.now() < end) {
    await repeat()
    await environment.delay(5)
  }
}

const animals = 2_000
const statuses = ['available', 'pending', 'sold'] as const

/** Adds the animals that callers read, and returns the id of the first. */
async function fill(sql: RootSql): Promise<number> {
  const rows = await sql<{ id: bigint }[]>`
    insert into pets (name, category_id, status)
    select 'of all ' || i, i, ('{available,pending,sold}'::text[])[1 + i % 3]
    from generate_series(0, ${animals - 1}::int) i
    returning id`
  return Number(rows[0]?.id)
}

/** Keys by their quota of a minute, which their responses name. */
async function addKeys(sql: RootSql): Promise<ReadonlyMap<number, string>> {
  const plan = customPlan(await readServiceContract(contractFile)) ?? ''
  const keys = new Map<number, string>()
  for (let perMinute = 1_000_000; perMinute < 1_000_008; perMinute++) {
    const key = createApiKey()
    const terms = { plan, perMinute, perDay: 1_000_000_000, expiresAt: null, createdBy: null }
    await insertApiKey(sql, { name: 'of a caller', scopes: [], ...terms, hash: hashApiKey(key) })
    keys.set(perMinute, key)
  }
  return keys
}

interface Answer {
  readonly status: number
  readonly text: string
}

interface Pet {
  readonly id: number
  readonly name: string
  readonly categoryId: number
}

// Callers with keys of their own, each of which reads, lists and creates in turn.
class Callers {
  readonly #counts = new Map<string, number>()
  readonly #wrong: string[] = []
  #number = 0

  constructor(
    readonly environment: Environment,
    readonly origin: string,
    readonly first: number,
    readonly keys: ReadonlyMap<number, string>,
  ) {}

  async callWhile(end: Promise<void>): Promise<void> {
    let isOn = true
    const ended = end.finally(() => {
      isOn = false
    })
    const { pauseMs } = this.environment.clients
    const repeat = async (call: () => Promise<void>) => {
      while (isOn) {
        await call()
        if (pauseMs > 0) await this.environment.delay(pauseMs)
      }
    }
    await Promise.all([ended, ...[...this.keys].flatMap((key) => this.#callsOf(...key)).map(repeat)])
  }

  outcome(): Outcome {
    const counts = [...this.#counts].sort().map(([what, count]) => `${what}: ${count}`)
    const hasFailed = [...this.#counts.keys()].some((what) => what.endsWith(' 503') || what.endsWith(' 500'))
    return {
      figures: [counts.join(', ')],
      violations: [...unless(hasFailed, 'no statement failed'), ...this.#wrong.slice(0, 5)],
    }
  }

  // Many gets and pages, so that some of each are in the statement that fails.
  #callsOf(perMinute: number, key: string): (() => Promise<void>)[] {
    const send: Send = (path, init) => this.#send(perMinute, key, path, init)
    const [get, list] = [() => this.#get(send), () => this.#list(send)]
    return [get, get, get, get, list, list, list, list, () => this.#createTwice(send)]
  }

  async #get(send: Send): Promise<void> {
    const place = Math.floor(Math.random() * animals)
    const { status, text } = await send(`/${this.first + place}`)
    this.#judge(
      'get',
      status,
      text,
      status === 200 ? isPet(text, this.first, place) : mayFail(status, place, place),
    )
  }

  async #list(send: Send): Promise<void> {
    const limit = 100
    const place = Math.floor(Math.random() * (animals - 3 * (limit + 1)))
    const isFiltered = Math.random() < 0.5
    const filter = isFiltered ? `&status=${statuses[place % 3]}` : ''
    const { status, text } = await send(`?limit=${limit}&after=${this.first + place}${filter}`)
    const step = isFiltered ? 3 : 1
    const isRight =
      status === 200
        ? isPage(text, this.first, place, step, limit)
        : mayFail(status, place, place + step * (limit + 1)) // it reads one more
    this.#judge('list', status, text, isRight)
  }

  // The second time the response is the stored one.
  async #createTwice(send: Send): Promise<void> {
    const name = `of-a-caller-${this.#number++}`
    const headers = { 'content-type': 'application/json', 'idempotency-key': name }
    const init = { method: 'POST', headers, body: JSON.stringify({ name, categoryId: this.#number }) }
    const [before, after] = [await send('', init), await send('', init)]
    for (const { status, text } of [before, after])
      this.#judge('create', status, text, status === 201 ? text.includes(`"name":"${name}"`) : status === 503)
    if (before.status === 201 && after.status === 201)
      this.#judge('repetition', after.status, after.text, before.text === after.text)
  }

  #judge(what: string, status: number, text: string, isRight: boolean): void {
    const kind = `${what} ${status}`
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    if (!isRight) this.#wrong.push(`${kind}: ${text.slice(0, 200)}`)
  }

  async #send(perMinute: number, key: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = { ...init.headers, authorization: `Bearer ${key}` }
    const response = await fetch(`${this.origin}/v1/pets${path}`, { ...init, headers })
    const text = await response.text()
    // A 503 may be sent before the key is known.
    const limit = Number(response.headers.get('x-ratelimit-limit'))
    if (response.ok && limit !== perMinute)
      this.#wrong.push(`the quota of another key: ${limit}, not ${perMinute}`)
    return { status: response.status, text }
  }
}

type Send = (path: string, init?: RequestInit) => Promise<Answer>

function isPet(text: string, first: number, place: number): boolean {
  const { id, name, categoryId } = JSON.parse(text) as Pet
  return id === first + place && name === `of all ${place}` && categoryId === place
}

function isPage(text: string, first: number, place: number, step: number, limit: number): boolean {
  const pets = JSON.parse(text) as Pet[]
  const isRight = (pet: Pet, i: number) => isPet(JSON.stringify(pet), first, place + (i + 1) * step)
  return pets.length === limit && pets.every(isRight)
}

// 500 is right for what includes the animal that cannot be computed.
function mayFail(status: number, from: number, to: number): boolean {
  return status === 503 || (status === 500 && from <= broken && broken <= to)
}
