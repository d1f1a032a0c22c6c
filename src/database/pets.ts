// Animals in PostgreSQL.

import { parse } from 'lossless-json'
import type { NewPet, Pet } from '../../generated/types.js'
import { batched } from './batch.js'
import type { Sql } from './types.js'

// Every field, so that one which the contract gains does not compile until it is stored.
type Row = {
  readonly [Name in keyof Required<Pet>]:
    | Exclude<Pet[Name], undefined>
    | (undefined extends Pet[Name] ? null : never)
}

// What cannot be null stands here, so that a field of the contract that may be missing does not compile until that is dealt with.
type Columns = {
  readonly name: string
  /** As text, for JSON's own numbers end at 2^53. */
  readonly category_id: string
  readonly status: string | undefined
}

/** Stores an animal and returns it with its id. */
export const insertPet = batched(insertPets)

async function insertPets(sql: Sql, pets: readonly NewPet[]): Promise<Pet[]> {
  const columns = pets.map(({ name, categoryId, status, ...others }): Columns => {
    others satisfies Record<string, never> // nothing that a caller sends is dropped
    return { name, category_id: categoryId.toString(), status }
  })
  // In their order, and so are the rows that come back.
  const rows = await sql<Row[]>`
    insert into pets (name, category_id, status)
    select name, category_id, status from jsonb_populate_recordset(null::pets, ${sql.json(columns)})
    returning id, name, category_id as "categoryId", status`
  return rows.map(toPet)
}

/** The animal with that id. That it is ordered tells PostgreSQL which index to take: see `requestSettings`. */
export const findPet = batched(findPets)

async function findPets(sql: Sql, ids: readonly Pet['id'][]): Promise<(Pet | undefined)[]> {
  const rows = await sql<Row[]>`
    select id, name, category_id as "categoryId", status
    from pets
    where id = any(${`{${ids.join()}}`}::bigint[])
    order by id`
  const found = new Map(rows.map((row) => [row.id, toPet(row)]))
  return ids.map((id) => found.get(id))
}

/** Which animals a page is of, and how many it may hold. */
export interface PageRequest {
  readonly afterId: bigint
  readonly status: Pet['status'] | undefined
  readonly limit: number
}

/** The animals after an id, in ascending order of id. By keyset: a page costs the same at any depth. */
export function listPets(sql: Sql, page: PageRequest): Promise<Pet[]> {
  return page.status === undefined ? listAll(sql, page) : listOfStatus(sql, page)
}

// A page is work enough for some to be read while others are written.
const pageLimits = { inputs: 16, inFlightMax: 4 }

// The two orders of use are two statements, each with an index of its own, so that a page of a rare status need not walk the
// others. The second is written without `status =`: with it PostgreSQL may walk the primary key, where `order by status, id` leaves it
// the one index.

const listAll = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_agg(json_build_array(id, name, category_id, status))::text
        from (select * from pets where id > after_id order by id limit page_limit) as page
      ) as pets
      from json_to_recordset(${pages}::text::json) as asked (after_id bigint, page_limit integer)`,
  ),
  pageLimits,
)

const listOfStatus = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_agg(json_build_array(id, name, category_id, status))::text
        from (
          select * from pets
          where (status, id) > (of_status, after_id) and status <= of_status
          order by status, id
          limit page_limit
        ) as page
      ) as pets
      from json_to_recordset(${pages}::text::json) as asked (after_id bigint, of_status text, page_limit integer)`,
  ),
  pageLimits,
)

// A page is one text: to take its rows apart, column by column, costs the driver three times as much.
interface PageRow {
  readonly pets: string | null
}

function pagesBy(select: (sql: Sql, pages: string) => Promise<readonly PageRow[]>) {
  return async (sql: Sql, pages: readonly PageRequest[]): Promise<Pet[][]> => {
    const asked = pages.map(({ afterId, status, limit }) => ({
      after_id: String(afterId),
      of_status: status,
      page_limit: limit,
    }))
    return (await select(sql, JSON.stringify(asked))).map(({ pets }) => readPage(pets ?? '[]'))
  }
}

type Cells = readonly [id: Integer, name: string, categoryId: Integer, status: Row['status']]
type Integer = number | bigint

// JSON.parse rounds what is beyond 2^53, to what is no safe integer either.
function readPage(text: string): Pet[] {
  const rows: readonly Cells[] = JSON.parse(text)
  const isExact = rows.every(
    ([id, , categoryId]) => Number.isSafeInteger(id) && Number.isSafeInteger(categoryId),
  )
  const exactRows = isExact ? rows : (parse(text, undefined, { parseNumber: BigInt }) as readonly Cells[])
  return exactRows.map(([id, name, categoryId, status]) =>
    toPet({ id: BigInt(id), name, categoryId: BigInt(categoryId), status }),
  )
}

// A status that was not given is absent, not null.
function toPet({ id, name, categoryId, status, ...others }: Row): Pet {
  others satisfies Record<string, never> // nothing that is stored is withheld
  return status === null ? { id, name, categoryId } : { id, name, categoryId, status }
}
