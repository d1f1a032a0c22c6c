// Sequences behind their rows: after a switch by logical replication, which does not copy them, each creation
// would get an id that is taken, and fail, with `/readyz` at 200.

import { OperatorError } from '../lib/operator-error.js'
import type { Sql } from './database.js'

/** A column that takes its values from a sequence, and leads an index. */
interface Source {
  readonly table: string
  readonly column: string
  readonly sequence: string
  readonly increment: bigint
}

interface Behind {
  readonly source: number
  readonly next: string
  readonly last: string
}

/**
 * Compares the sequence of each `serial` and identity column of the service's schema with the last value in
 * its table. Reads one entry of an index for each; leaves out what the role may not read.
 * @throws {OperatorError} for those that are behind, with the statements that mend them
 */
export async function checkSequences(sql: Sql): Promise<void> {
  const sources = await findSources(sql)
  if (sources.length === 0) return
  const behind = await sql.unsafe<Behind[]>(sources.map(comparison).join(' union all '))
  if (behind.length === 0) return
  const lines = behind.map(({ source, next, last }) => {
    const { table, column } = sources[source] as Source
    return `${table}.${column}: the next value is ${next}, and a row has ${last}`
  })
  const statements = behind.map(({ source }) => mendingStatement(sources[source] as Source))
  throw new OperatorError(
    `Sequences are behind the rows of their tables, so creations would fail:
${lines.join('\n')}
Run as the owner of the tables, while nothing is created:
${statements.join('\n')}`,
  )
}

// With names that are quoted where needed. A sequence that cycles meets its own values on purpose, and a
// default that calculates with `nextval` has others. Only an index of the B-tree knows the last value.
function findSources(sql: Sql): Promise<Source[]> {
  return sql<Source[]>`
    select distinct quote_ident(attname) as "column", seqincrement as increment,
      format('%I.%I', nspname, tables.relname) as "table",
      format('%I.%I', nspname, sequences.relname) as sequence
    from (
      select refobjid as relation, refobjsubid::smallint as number, objid as sequence
      from pg_depend
      where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype = 'i'
      union
      select adrelid, adnum, refobjid
      from pg_depend join pg_attrdef on pg_attrdef.oid = objid
      where classid = 'pg_attrdef'::regclass and refclassid = 'pg_class'::regclass
        and pg_get_expr(adbin, adrelid) ~ '^nextval[(]''([^'']|'''')+''::regclass[)]$'
    ) as uses
    join pg_sequence on seqrelid = sequence and not seqcycle
    join pg_namespace on nspname = current_schema()
    join pg_class as sequences on sequences.oid = seqrelid and sequences.relnamespace = pg_namespace.oid
    join pg_class as tables on tables.oid = relation and tables.relnamespace = pg_namespace.oid
    join pg_attribute on attrelid = relation and attnum = number
    where has_column_privilege(relation, number, 'select') and has_table_privilege(sequence, 'select')
      and exists (
        select from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
        where indrelid = relation and indkey[0] = number and indisvalid and indpred is null
          and amname = 'btree'
      )
    order by 3, 1`
}

// One statement: its snapshot of the rows is older than what it reads of the sequences. So a row that another
// instance inserts meanwhile is not seen, or its value is.
function comparison(source: Source, number: number): string {
  const { sequence, increment } = source
  return `
    select ${number} as source, next::text, last::text
    from (select last_value::numeric + case when is_called then ${increment} else 0 end from ${sequence}) as
      sequence (next), (${lastValue(source)}) as rows (last)
    where ${increment > 0n ? 'last >= next' : 'last <= next'}`
}

function lastValue({ table, column, increment }: Source): string {
  return `select ${increment > 0n ? 'max' : 'min'}(${column}) from ${table}`
}

function mendingStatement(source: Source): string {
  return `select setval('${source.sequence.replaceAll("'", "''")}', (${lastValue(source)}));`
}
