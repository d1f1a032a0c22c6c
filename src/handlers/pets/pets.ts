// Animals in PostgreSQL.

import { parse } from 'lossless-json'
import type { NewPet, Pet } from '../../../generated/types.js'
import { batched } from '../../database/batch.js'
import type { Sql } from '../../database/database.js'

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
const pageLimits = { inputs: 12, inFlightMax: 3 }

// Two statements, each with its own index, so that a page of a rare status does not scan the other statuses. `listOfStatus` avoids
// `status =`: with it, PostgreSQL may scan the primary key; `order by status, id` with a range leaves only the index pets_status_id.

const listAll = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_build_array(json_agg(id), json_agg(name), json_agg(category_id), json_agg(status))::text
        from (select * from pets where id > after_id order by id limit page_limit) as page
      ) as columns
      from json_to_recordset(${pages}::text::json) as asked (after_id bigint, page_limit integer)`,
  ),
  pageLimits,
)

const listOfStatus = batched(
  pagesBy(
    (sql, pages) => sql<PageRow[]>`
      select (
        select json_build_array(json_agg(id), json_agg(name), json_agg(category_id), json_agg(status))::text
        from (
          select * from pets
          where (status, id) > (of_status, after_id) and status <= of_status
          order by status, id
          limit page_limit
        ) as page
      ) as columns
      from json_to_recordset(${pages}::text::json) as asked (after_id bigint, of_status text, page_limit integer)`,
  ),
  pageLimits,
)

// A page is one JSON text: decoding rows takes the driver three times as long. It has a list for each column, because a list for each row
// takes PostgreSQL a quarter longer.
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
    return (await select(sql, JSON.stringify(asked))).map(({ columns }) => readPage(columns))
  }
}

// Of equal length. Null if the page is empty.
type PageColumns<Integer> = readonly [
  ids: readonly Integer[] | null,
  names: readonly string[],
  categoryIds: readonly Integer[],
  statuses: readonly Row['status'][],
]

function readPage(text: string): Pet[] {
  const [ids, names, categoryIds, statuses] = readColumns(text)
  return (ids ?? []).map((id, i) =>
    toPet({
      id: BigInt(id),
      name: names[i] as string,
      categoryId: BigInt(categoryIds[i] as number | bigint),
      status: statuses[i] as Row['status'],
    }),
  )
}

// JSON.parse rounds integers beyond 2^53; the rounded value is not a safe integer either, so this detects it.
function readColumns(text: string): PageColumns<number | bigint> {
  const columns: PageColumns<number> = JSON.parse(text)
  const [ids, , categoryIds] = columns
  const isExact = ids === null || [ids, categoryIds].every((each) => each.every(Number.isSafeInteger))
  return isExact ? columns : (parse(text, undefined, { parseNumber: BigInt }) as PageColumns<bigint>)
}

// A status that was not set is omitted, not null.
function toPet({ id, name, categoryId, status, ...others }: Row): Pet {
  others satisfies Record<string, never> // every stored field is returned
  return status === null ? { id, name, categoryId } : { id, name, categoryId, status }
}
