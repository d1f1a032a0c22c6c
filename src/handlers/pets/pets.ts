// Animals in PostgreSQL.

import { parse } from 'lossless-json'
import type { NewPet, Pet } from '../../../generated/types.js'
import { batched } from '../../database/batch.js'
import type { Sql } from '../../database/database.js'
import { exactNumber } from '../../lib/exact-number.js'

/** How a field is stored. */
interface Column {
  readonly column: string
  /** Whether it may be absent, which is stored as null. */
  readonly optional: boolean
  /** Whether it is an int64: as a JSON number it would be exact only up to 2^53. */
  readonly int64: boolean
}
type Columns<Fields> = {
  readonly [Name in keyof Required<Fields>]: Column & {
    readonly optional: undefined extends Fields[Name] ? true : false
    readonly int64: bigint extends Fields[Name] ? true : false
  }
}

// Every statement is made from these two lists. A field of the contract that they lack does not compile.

/** What a new animal has. */
const given = {
  name: { column: 'name', optional: false, int64: false },
  categoryId: { column: 'category_id', optional: false, int64: true },
  status: { column: 'status', optional: true, int64: false },
} as const satisfies Columns<NewPet>

/** What an animal has. */
const stored = {
  id: { column: 'id', optional: false, int64: true },
  ...given,
} as const satisfies Columns<Pet>

const givenFields = Object.entries(given) as [name: keyof NewPet, Column][]
const storedFields = Object.entries(stored) as [name: keyof Pet, Column][]
const givenColumns = givenFields.map(([, { column }]) => column).join(', ')
const storedColumns = storedFields.map(([name, { column }]) => `${column} as "${name}"`).join(', ')
const tableColumns = storedFields.map(([, { column }]) => column).join(', ')
const pageColumns = storedFields.map(([, { column }]) => `json_agg(${column})`).join(', ')

type Row = { readonly [Name in keyof Pet]-?: Pet[Name] | null }

/** Stores an animal and returns it with its id. */
export const insertPet = batched(insertPets)

async function insertPets(sql: Sql, pets: readonly NewPet[]): Promise<Pet[]> {
  const given = JSON.stringify(pets.map(toColumns))
  // The rows come back in the order of the input.
  const rows = await sql<Row[]>`
    insert into pets (${sql.unsafe(givenColumns)})
    select ${sql.unsafe(givenColumns)}
    from jsonb_populate_recordset(null::pets, ${given}::text::jsonb)
    returning ${sql.unsafe(storedColumns)}`
  return toPets(columnsOf(rows))
}

function toColumns(pet: NewPet): object {
  const columns: Record<string, unknown> = {}
  for (const [name, { column, int64 }] of givenFields)
    columns[column] = int64 ? pet[name]?.toString() : pet[name]
  return columns
}

/** Finds an animal by id. The ORDER BY makes PostgreSQL use the primary key: see `requestSettings`. */
export const findPet = batched(findPets)

async function findPets(sql: Sql, ids: readonly Pet['id'][]): Promise<(Pet | undefined)[]> {
  const rows = await sql<Row[]>`
    select ${sql.unsafe(storedColumns)}
    from pets
    where id = any(${`{${ids.join()}}`}::bigint[])
    order by id`
  const found = new Map(toPets(columnsOf(rows)).map((pet) => [pet.id, pet]))
  return ids.map((id) => found.get(id))
}

/** The position, filter and size of a page. */
export interface PageRequest {
  readonly afterId: bigint
  readonly status: Pet['status'] | undefined
  readonly limit: number
}

/** Lists the animals after an id, in order of id. Keyset pagination: a page costs the same at any depth. */
export function listPets(sql: Sql, page: PageRequest): Promise<Pet[]> {
  return page.status === undefined ? listAll(sql, page) : listOfStatus(sql, page)
}

// Smaller batches than the default, and more of them: some pages are read while others are sent.
const pageLimits = { inputs: 12, inFlightMax: 3 }

// Two statements, each with its own index: a page of a rare status does not scan the others. With `status =`
// PostgreSQL may scan the primary key; a range by `status, id` leaves only pets_status_id.

const listAll = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_build_array(${sql.unsafe(pageColumns)})::text
        from (
          select ${sql.unsafe(tableColumns)} from pets where id > after_id order by id limit page_limit
        ) as page
      ) as columns
      from json_to_recordset(${pages}::text::json) as asked (after_id bigint, page_limit integer)`,
  ),
  pageLimits,
)

const listOfStatus = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_build_array(${sql.unsafe(pageColumns)})::text
        from (
          select ${sql.unsafe(tableColumns)}
          from pets
          where (status, id) > (of_status, after_id) and status <= of_status
          order by status, id
          limit page_limit
        ) as page
      ) as columns
      from json_to_recordset(${pages}::text::json)
        as asked (after_id bigint, of_status text, page_limit integer)`,
  ),
  pageLimits,
)

// A page is one JSON text: decoding rows takes the driver three times as long. It has a list for each column,
// because a list for each row takes PostgreSQL a quarter longer.
interface PageRow {
  readonly columns: string
}

function pagesBy(select: (sql: Sql, pages: string) => Promise<readonly PageRow[]>) {
  return async (sql: Sql, pages: readonly PageRequest[]): Promise<Pet[][]> => {
    const asked = pages.map(({ afterId, status, limit }) => ({
      after_id: String(afterId),
      of_status: status,
      page_limit: limit,
    }))
    return (await select(sql, JSON.stringify(asked))).map(({ columns }) => toPets(readColumns(columns)))
  }
}

// The values of each field: lists of equal length, or nulls if the page is empty. JSON.parse rounds integers
// beyond 2^53; the rounded value is not a safe integer either, so this detects it.
function readColumns(text: string): (unknown[] | null)[] {
  const columns: (unknown[] | null)[] = JSON.parse(text)
  const isExact = storedFields.every(
    ([, { int64 }], field) => !int64 || columns[field]?.every(isExactOrNull) !== false,
  )
  return isExact ? columns : (parse(text, undefined, { parseNumber: exactNumber }) as unknown[][])
}

function isExactOrNull(value: unknown): boolean {
  return value === null || Number.isSafeInteger(value)
}

function columnsOf(rows: readonly Row[]): unknown[][] {
  return storedFields.map(([name]) => rows.map((row) => row[name]))
}

// Fields that were not set are omitted, not null. Column by column, which is twice as fast as row by row.
function toPets(columns: readonly (readonly unknown[] | null)[]): Pet[] {
  const pets: Record<string, unknown>[] = (columns[0] ?? []).map(() => ({}))
  storedFields.forEach(([name, { optional, int64 }], field) => {
    const values = columns[field] ?? []
    pets.forEach((pet, i) => {
      const value = values[i]
      if (value !== null || !optional) pet[name] = int64 ? BigInt(value as number | bigint) : value
    })
  })
  return pets as Pet[] // a column for each of its fields
}
