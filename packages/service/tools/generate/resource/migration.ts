// Writes the migration of a resource: its table, and the indexes of its lists.

import { capitalized } from 'contract-engine/lib/texts'
import { isAlways, type ResourceField } from './fields.js'
import type { ListOrder } from './list.js'
import type { Resource } from './resource.js'
import { snakeCase, sqlName } from './words.js'

/** Returns the text of the migration. */
export function migrationText(resource: Resource): string {
  const { fields, table, many } = resource
  const columns = fields.map((field) => ({
    text: columnText(resource, field),
    note: noteOf(resource, field),
  }))
  const last = columns.length - 1
  const lines = columns.map(
    ({ text, note }, i) => `  ${text}${i === last ? '' : ','}${note && ` -- ${note}`}\n`,
  )
  return `-- ${capitalized(many)}. Lengths, characters and values are the contract's to bound: it may change without a migration.
create table ${sqlName(table)} (
${lines.join('')});
${indexesOf(resource)}`
}

function columnText(resource: Resource, field: ResourceField): string {
  const { table, key } = resource
  const { column, type, unique, references } = field
  const parts = [`${sqlName(column)} ${type.sql}`]
  if (field === key) parts.push(keyText(field))
  else {
    if (isAlways(field)) parts.push('not null')
    if (field.taken === undefined && isAlways(field)) parts.push(`default ${initialOf(field)}`)
    if (unique !== undefined) parts.push(`constraint ${constraintOf(table, field, 'key')} unique`)
  }
  if (references !== undefined) {
    const target = `${sqlName(references.table)} (${sqlName(references.column)})`
    parts.push(`constraint ${constraintOf(table, field, 'fkey')} references ${target}`)
  }
  return parts.join(' ')
}

/** Returns the name of a column's constraint: PostgreSQL's own choice, of at most 63 bytes. */
export function constraintOf(table: string, { column }: ResourceField, kind: 'key' | 'fkey'): string {
  const name = `${table}_${column}`.replace(/[^a-z\d_]/g, '_')
  return `${name.slice(0, 62 - kind.length)}_${kind}`
}

// If clients do not send the identifier, only the database assigns it, and no statement can set it.
function keyText({ taken, type }: ResourceField): string {
  if (taken !== undefined) return 'primary key'
  if (/^(smallint|integer|bigint)$/.test(type.sql)) return 'generated always as identity primary key'
  return `default gen_random_uuid()${type.sql === 'uuid' ? '' : '::text'} primary key`
}

// A version starts at 1.
function initialOf({ name, type, schema }: ResourceField): string {
  if (isVersion({ name, type })) return '1'
  const [first] = Array.isArray(schema.enum) ? schema.enum : []
  return typeof first === 'string' ? `'${first.replaceAll("'", "''")}'` : type.initial
}

/** True if a field counts the changes of a row. */
export function isVersion({ name, type }: Pick<ResourceField, 'name' | 'type'>): boolean {
  return /^(version|revision)$/i.test(name) && /^(smallint|integer|bigint)$/.test(type.sql)
}

// Notes for the team on questions that the contract leaves open.
function noteOf({ key }: Resource, field: ResourceField): string {
  const { name, taken, unique, references, schema } = field
  if (field === key) return ''
  const notes: string[] = []
  if (taken === undefined && !isVersion(field) && isAlways(field)) notes.push('set by the service')
  if (taken !== undefined && unique === undefined && /^(name|slug|code|email)$/i.test(name))
    notes.push('once only? x-unique in the contract asks for a constraint')
  const [, other] = /^(.+?)_?id$/i.exec(name) ?? []
  if (other !== undefined && references === undefined && schema.readOnly !== true)
    notes.push(`refers to a ${snakeCase(other)}? x-references asks for a foreign key`)
  return notes.join('; ')
}

// An index begins with the columns of equality, then has those of the order: a page is one range of it. A
// unique field already has an index.
function indexesOf({ table, list }: Resource): string {
  if (list === undefined) return ''
  const [{ fields: order }] = list.orders as [ListOrder] // a list has at least one
  const direction = order[0]?.startsWith('-') ? '-' : '' // equality columns have it too, as in pages
  const equal = list.filters.filter(({ operator }) => operator === '=' || operator === 'in')
  const wanted = [
    ...list.orders.map(({ fields }) => fields),
    ...equal.map(({ field }) => [direction + field.name, ...order]),
  ]
  const texts = wanted.map(eachOnce).flatMap((fields) => {
    return fields.length === 1 ? [] : [`create index on ${sqlName(table)} (${termsOf(fields)});\n`]
  })
  if (texts.length === 0) return ''
  return `\n-- Pages in each order, and those of each filter.\n${[...new Set(texts)].join('')}`
}

function eachOnce(fields: readonly string[]): readonly string[] {
  const names = fields.map(columnOf)
  return fields.filter((_, i) => names.indexOf(names[i] as string) === i)
}

// PostgreSQL reads an index in both directions, so all descending is the same as all ascending.
function termsOf(fields: readonly string[]): string {
  const isDescending = (field: string) => field.startsWith('-')
  const isMixed = fields.some(isDescending) && !fields.every(isDescending)
  return fields
    .map((each) => sqlName(columnOf(each)) + (isMixed && isDescending(each) ? ' desc' : ''))
    .join(', ')
}

function columnOf(field: string): string {
  return snakeCase(field.replace(/^-/, ''))
}
