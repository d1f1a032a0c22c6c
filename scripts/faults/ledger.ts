// A ledger of the responses that clients received, compared with the database by the pets' unique names.

import { randomBytes } from 'node:crypto'
import type { Sql } from 'contract-service/internal/database/database'

/** The outcome of the creates. */
export interface Balance {
  readonly acknowledged: number
  /** Acknowledged, and stored under the acknowledged id. */
  readonly found: number
  readonly lost: number
  /** Without a response that reports the outcome. */
  readonly unknown: number
  /** Unknown, but stored. */
  readonly unknownStored: number
  /** Stored more than once. */
  readonly duplicates: number
}

export class Ledger {
  /** Names and ids. */
  readonly acknowledged: [name: string, id: string][] = []
  readonly unknown = new Set<string>()
  readonly statuses = new Map<string, number>()
  /** Descriptions of wrong responses. */
  readonly wrong: string[] = []
  slowestMs = 0
  #count = 0
  readonly #run = randomBytes(4).toString('hex')

  nextName(): string {
    return `${this.#run}-${this.#count++}`
  }

  /** Records the outcome of a request: its status, or `no response`. */
  record(outcome: string, ms: number): void {
    this.statuses.set(outcome, (this.statuses.get(outcome) ?? 0) + 1)
    this.slowestMs = Math.max(this.slowestMs, ms)
  }

  count(outcome: string): number {
    return this.statuses.get(outcome) ?? 0
  }

  /** Compares the ledger with the database. */
  async balance(sql: Sql): Promise<Balance> {
    const rows = await sql<{ name: string; id: string; count: number }[]>`
      select name, min(id)::text as id, count(*)::int as count
      from pets
      where name like ${`${this.#run}-%`}
      group by name`
    const stored = new Map(rows.map((row) => [row.name, row]))
    const found = this.acknowledged.filter(([name, id]) => stored.get(name)?.id === id).length
    return {
      acknowledged: this.acknowledged.length,
      found,
      lost: this.acknowledged.length - found,
      unknown: this.unknown.size,
      unknownStored: [...this.unknown].filter((name) => stored.has(name)).length,
      duplicates: rows.filter(({ count }) => count > 1).length,
    }
  }
}
