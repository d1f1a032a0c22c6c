// Animals in PostgreSQL.

import type { components } from '../../generated/types.js'
import type { Sql } from './connect.js'

type Pet = components['schemas']['Pet']
type NewPet = components['schemas']['NewPet']
// Every field, so that one which the contract gains does not compile until it is stored.
type Row = {
  readonly [Name in keyof Required<Pet>]:
    | Exclude<Pet[Name], undefined>
    | (undefined extends Pet[Name] ? null : never)
}

/** Stores an animal in one statement and returns it with its id. */
export async function insertPet(sql: Sql, { name, categoryId, status, ...others }: NewPet): Promise<Pet> {
  others satisfies Record<string, never> // nothing that a caller sends is dropped
  const rows = await sql<Row[]>`
    insert into pets (name, category_id, status)
    values (${name}, ${categoryId}, ${status ?? null})
    returning id, name, category_id as "categoryId", status`
  return toPet(rows[0] as Row) // an insert without a conflict clause returns its row
}

/** The animal with that id. */
export async function findPet(sql: Sql, id: Pet['id']): Promise<Pet | undefined> {
  const [row] = await sql<Row[]>`
    select id, name, category_id as "categoryId", status
    from pets
    where id = ${id}`
  return row && toPet(row)
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
