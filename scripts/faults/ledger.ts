// What callers were told, and whether it is so: each animal has a name of its own, which the database is asked for.

import { randomBytes } from 'node:crypto'
import type { Sql } from '../../src/database/types.js'

/** What became of the animals that were to be created. */
export interface Balance {
  readonly acknowledged: number
  /** Acknowledged, and in the database under the id that the caller was told. */
  readonly found: number
  readonly lost: number
  /** Nobody told the caller what became of them, */
  readonly unknown: number
  /** and these were stored. */
  readonly unknownStored: number
  /** Stored more than once. */
  readonly duplicates: number
}

/** The callers' books. */
export class Ledger {
  /** Names and ids. */
  readonly acknowledged: [name: string, id: string][] = []
  readonly unknown = new Set<string>()
  readonly statuses = new Map<string, number>()
  /** Answers that should not have been, in words. */
  readonly wrong: string[] = []
  slowestMs = 0
  #count = 0
  readonly #run = randomBytes(4).toString('hex')

  nextName(): string {
    return `${this.#run}-${this.#count++}`
  }

  /** Notes how a request ended: its status, or that there was no answer. */
  note(end: string, ms: number): void {
    this.statuses.set(end, (this.statuses.get(end) ?? 0) + 1)
    this.slowestMs = Math.max(this.slowestMs, ms)
  }

  count(end: string): number {
    return this.statuses.get(end) ?? 0
  }

  /** Compares the books with the database. */
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
