// Writes the table of a resource: its columns, and the statements that its handlers run.

import { capitalized } from 'contract-engine/lib/texts'
import type { ResourceField } from './fields.js'
import { isVersion } from './migration.js'
import { type Resource, takenName } from './resource.js'
import { keyName } from './words.js'

/** Returns the names of a resource's functions, none of which is the name of a handler. */
export function functionsOf({ schema, constant, operations }: Resource) {
  const handlers = Object.values(operations).map(({ name }) => name)
  const free = (name: string) => (handlers.includes(name) ? `${name}Row` : name)
  const one = capitalized(schema)
  return {
    find: free(`find${one}`),
    change: free(`change${one}`),
    remove: free(`remove${one}`),
    select: free(`select${capitalized(constant)}`),
  }
}

/** Returns the text of the table's module. */
export function tableText(resource: Resource): string {
  const { fields, constant, table, many, key, operations } = resource
  const columns = [...new Set(fields.flatMap(wrappedFunctions))].sort()
  const shows = fields.filter(({ shown }) => shown !== undefined)
  const takes = fields.filter(({ taken }) => taken !== undefined)
  const version = shows.find(
    (field) => field.taken === undefined && field.shown === 'always' && isVersion(field),
  )
  const isUnnamed = operations.create !== undefined && takenName(resource) === undefined
  const lines = [
    `  shows: { ${shows.map((field) => columnText(field, field.shown === 'sometimes')).join(', ')} },`,
    `  takes: { ${takes.map((field) => columnText(field, field.taken === 'sometimes')).join(', ')} },`,
    ...(version === undefined ? [] : [`  version: '${version.name}',`]),
  ]
  return `// ${capitalized(many)} in PostgreSQL.

import { ${[...columns, 'table'].sort().join(', ')} } from 'contract-service/table'
import type { ${typesIn(resource).join(', ')} } from '../../../generated/types.js'
${isUnnamed ? "import type { Request } from '../handler.js'\n" : ''}
/** The ${many}. A field of the contract that a list lacks, or that has another type, does not compile. */
export const ${constant} = table<${typeNames(resource).join(', ')}>('${table}', {
${lines.join('\n')}
})
${statementsOf(resource, key, operations)}`
}

function statementsOf(resource: Resource, key: ResourceField, operations: Resource['operations']): string {
  const { constant, one, many } = resource
  const { find, change, remove, select } = functionsOf(resource)
  const by = `'${key.name}'`
  const all = [
    operations.get && [`Finds one ${one} by ${key.name}.`, find, `findBy(${by})`],
    operations.change && [`Changes some fields of one ${one}.`, change, `updateBy(${by})`],
    operations.remove && [`Deletes one ${one}.`, remove, `deleteBy(${by})`],
    operations.list && [`Lists ${many}, page by page.`, select, `pages(${pagesText(resource)})`],
  ].filter((each) => each !== undefined)
  return all
    .map(([text, name, call]) => `\n/** ${text} */\nexport const ${name} = ${constant}.${call}\n`)
    .join('')
}

function pagesText({ list }: Resource): string {
  if (list === undefined) return ''
  const { orders, filters, orderParameter } = list
  const listOf = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`
  const [first] = orders
  const order =
    orderParameter === undefined
      ? listOf(first?.fields ?? [])
      : `{ ${orders.map(({ name, fields }) => `${keyName(name)}: ${listOf(fields)}`).join(', ')} }`
  const by = filters.map(({ parameter, field, operator }) => {
    const value = operator === '=' ? `'${field.name}'` : `['${field.name}', '${operator}']`
    return `${keyName(parameter)}: ${value}`
  })
  return `{ order: ${order}${by.length === 0 ? '' : `, filters: { ${by.join(', ')} }`} }`
}

function columnText({ name, column, type, isNullable }: ResourceField, isOptional: boolean): string {
  const named = column === name ? type.codec : withName(type.codec, column)
  const nullable = isNullable ? `nullable(${named})` : named
  return `${keyName(name)}: ${isOptional ? `optional(${nullable})` : nullable}`
}

// `int8()` -> `int8('shop_id')`, `arrayOf(text())` -> `arrayOf(text(), 'tags')`.
function withName(codec: string, column: string): string {
  return codec.replace(/(\(?)\)$/, (_, open) => `${open === '' ? ', ' : '('}'${column}')`)
}

function wrappedFunctions({ type, isNullable, shown, taken }: ResourceField): string[] {
  const isOptional = [shown, taken].includes('sometimes')
  return [...type.functions, ...(isNullable ? ['nullable'] : []), ...(isOptional ? ['optional'] : [])]
}

// If the schema of the body has no name, uses the type of the operation's body.
function typeNames(resource: Resource): [shown: string, taken: string] {
  const { schema, hasReadOrWriteOnly, operations } = resource
  const { create } = operations
  const of = (wrapper: string, name: string) => (hasReadOrWriteOnly ? `${wrapper}<${name}>` : name)
  const taken = takenName(resource)
  const body = create === undefined ? 'object' : `Request<'${create.name}'>['body']`
  return [of('Readable', schema), taken === undefined ? body : of('Writable', taken)]
}

function typesIn(resource: Resource): string[] {
  const { schema, hasReadOrWriteOnly } = resource
  const taken = takenName(resource)
  const named = taken === undefined ? [] : [taken]
  const wrappers = hasReadOrWriteOnly ? ['Readable', ...named.map(() => 'Writable')] : []
  return [...new Set([schema, ...named, ...wrappers])].sort()
}
