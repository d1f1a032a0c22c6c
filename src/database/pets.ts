// Animals in PostgreSQL.

import { parse } from 'lossless-json'
import type { NewPet, Pet } from '../../generated/types.js'
import { batched } from './batch.js'
import type { Sql } from './types.js'

// Every field of `Pet`: a field added to the contract does not compile until it is stored.
type Row = {
  readonly [Name in keyof Required<Pet>]:
    | Exclude<Pet[Name], undefined>
    | (undefined extends Pet[Name] ? null : never)
}

// Nullability is explicit: a required field that becomes optional in the contract does not compile until it is handled here.
type Columns = {
  readonly name: string
  /** A string, because JSON numbers are exact only up to 2^53. */
  readonly category_id: string
  readonly status: string | undefined
}

/** Stores an animal and returns it with its id. */
export const insertPet = batched(insertPets)

async function insertPets(sql: Sql, pets: readonly NewPet[]): Promise<Pet[]> {
  const columns = pets.map(({ name, categoryId, status, ...others }): Columns => {
    others satisfies Record<string, never> // every field of the request is stored
    return { name, category_id: categoryId.toString(), status }
  })
  // The rows come back in the order of the input.
  const rows = await sql<Row[]>`
    insert into pets (name, category_id, status)
    select name, category_id, status from jsonb_populate_recordset(null::pets, ${sql.json(columns)})
    returning id, name, category_id as "categoryId", status`
  return rows.map(toPet)
}

/** Finds an animal by id. The ORDER BY makes PostgreSQL use the primary key: see `requestSettings`. */
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
const pageLimits = { inputs: 16, inFlightMax: 4 }

// Two statements, each with its own index, so that a page of a rare status does not scan the other statuses. `listOfStatus` avoids
// `status =`: with it, PostgreSQL may scan the primary key; `order by status, id` with a range leaves only the index pets_status_id.

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

// A page is one JSON text: parsing its rows column by column takes the driver three times as long.
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

// JSON.parse rounds integers beyond 2^53; the rounded value is not a safe integer either, so this detects it.
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

// A status that was not set is omitted, not null.
function toPet({ id, name, categoryId, status, ...others }: Row): Pet {
  others satisfies Record<string, never> // every stored field is returned
  return status === null ? { id, name, categoryId } : { id, name, categoryId, status }
}
