// Finds sequences that are behind their rows. Logical replication does not copy sequences: after a switch to
// a copy, each creation would get an id that is taken, and fail while `/readyz` responds 200.

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
 * its table. Reads one index entry for each column, and skips columns that the role may not read.
 * @throws {OperatorError} if sequences are behind; the message has the statements that mend them
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

// Names are quoted where needed. Skips sequences that cycle, because they repeat values on purpose, defaults
// that calculate with `nextval`, and columns without a B-tree index, which alone finds the last value
// quickly.
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

// A single statement, because its snapshot of the rows is older than its reading of the sequence. If another
// instance inserts a row meanwhile, the statement either misses the row or sees the sequence after it.
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
