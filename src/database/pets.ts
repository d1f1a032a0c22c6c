// Animals in PostgreSQL.

import type { components } from '../../generated/types.js'
import { batched } from './batch.js'
import type { Sql } from './types.js'

type Pet = components['schemas']['Pet']
type NewPet = components['schemas']['NewPet']
// Every field, so that one which the contract gains does not compile until it is stored.
type Row = {
  readonly [Name in keyof Required<Pet>]:
    | Exclude<Pet[Name], undefined>
    | (undefined extends Pet[Name] ? null : never)
}

/** Stores an animal and returns it with its id. */
export const insertPet = batched(insertPets)

async function insertPets(sql: Sql, pets: readonly NewPet[]): Promise<Pet[]> {
  const columns = pets.map(({ name, categoryId, status, ...others }) => {
    others satisfies Record<string, never> // nothing that a caller sends is dropped
    return { name, category_id: String(categoryId), status } // as text, for JSON's own numbers end at 2^53
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

/**
 * The animals after an id, in ascending order of id. By keyset: a page costs the same at any depth. The two
 * orders of use are two statements, each with an index of its own, so that a page of a rare status
 * need not walk the others. That one is written without `status =`: with it PostgreSQL may walk the primary key,
 * where `order by status, id` leaves it the one index.
 */
export async function listPets(
  sql: Sql,
  { afterId, status, limit }: { afterId: bigint; status: Pet['status'] | undefined; limit: number },
): Promise<Pet[]> {
  const rows =
    status === undefined
      ? await sql<Row[]>`
          select id, name, category_id as "categoryId", status
          from pets
          where id > ${afterId}
          order by id
          limit ${limit}`
      : await sql<Row[]>`
          select id, name, category_id as "categoryId", status
          from pets
          where (status, id) > (${status}, ${afterId}) and status <= ${status}
          order by status, id
          limit ${limit}`
  return rows.map(toPet)
}

// A status that was not given is absent, not null.
function toPet({ id, name, categoryId, status, ...others }: Row): Pet {
  others satisfies Record<string, never> // nothing that is stored is withheld
  return status === null ? { id, name, categoryId } : { id, name, categoryId, status }
}
