// Writes the test of a resource, which sends real requests to the production application. The test fails if
// anyone changes an operator, a filter, an order, an error or a column of the proposal.

import type { Operation } from 'contract-engine'
import { capitalized } from 'contract-engine/lib/texts'
import { changeTest } from './change-test.js'
import { listTest } from './list-test.js'
import { constraintOf } from './migration.js'
import { setsHeader, successOf, takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import { type GivenField, type Rows, rowOf, rowsOf, valueIn } from './rows.js'
import { literal } from './samples.js'
import {
  conflictLine,
  conflictsOf,
  lostPath,
  lostText,
  memberText,
  needsIfMatch,
  pathPattern,
  pathTo,
  testOf,
} from './test-parts.js'
import { keyName, sqlName, withArticle } from './words.js'

/**
 * Returns the text of the test; undefined if no operation adds rows.
 * @param hasFixtures true if the project starts its service in its own way, in test/fixtures
 */
export function testText(resource: Resource, hasFixtures: boolean): string | undefined {
  const { operations, many } = resource
  const { create, get, list, change, remove } = operations
  if (create === undefined) return undefined
  const rows = rowsOf(resource)
  const tests = [
    createTest(resource, rows, create),
    get && getTest(resource, rows, get),
    list && listTest(resource, rows, list),
    change && changeTest(resource, rows, change),
    remove && removeTest(resource, rows, remove),
  ]
  const start = startText(resource, rows, create)
  return `// ${capitalized(many)} are what the contract says, from a request to the row that stores them.

${importsOf(start.includes('addKeys('), hasFixtures)}
${sentText(resource, rows)}
${start}
${tests.filter((each) => each !== undefined).join('\n')}`
}

function importsOf(addsKeys: boolean, hasFixtures: boolean): string {
  const tap = "import t, { type Test } from 'tap'\n"
  const names = addsKeys ? 'addKeys, startService' : 'startService'
  if (!hasFixtures) return `import { ${names} } from 'contract-service/testing'\n${tap}`
  const keys = addsKeys ? "import { addKeys } from '../fixtures/rows.js'\n" : ''
  return `${tap}${keys}import { startService } from '../fixtures/service.js'\n`
}

function sentText({ many }: Resource, rows: Rows): string {
  const todo = 'it needs a value of yours, or an example in the contract'
  const unknown = rows.unknown.map(({ name }) => `    ${keyName(name)}: '', // ${todo}\n`).join('')
  const texts = Array.from({ length: rows.count + 1 }, (_, i) => {
    const pairs = Object.entries(rowOf(rows, i))
    const lines = pairs.map(([name, value]) => `    ${keyName(name)}: ${literal(value)},\n`)
    return `  {\n${lines.join('')}${unknown}  },\n`
  })
  return `// ${capitalized(many)} as a client sends them. They differ in each field, and are in other orders by
// each. The last is for changes.
const sent = [
${texts.join('')}] as const
`
}

function startText(resource: Resource, { fields }: Rows, { path }: Operation): string {
  const lines = new Set(fields.flatMap((each) => referringLine(resource, each)))
  return `async function start(t: Test) {
  const { call, sql } = await startService(t)
${[...lines].join('')}  const add = (body: object) => call('POST', '${path}', { body })
  return { call, sql, add }
}
`
}

// Adds rows that the test's rows refer to. The last value gets none, for the test of a missing row.
function referringLine({ table }: Resource, { field, values }: GivenField): string[] {
  const { references } = field
  if (references === undefined) return []
  const { table: target, column } = references
  if (target !== table)
    return [`  await addKeys(sql, '${target}', '${column}', ${literal(values.slice(0, -1))})\n`]
  const drop = `alter table ${sqlName(table)} drop constraint ${constraintOf(table, field, 'fkey')}`
  return [`  await sql\`${drop}\` // the first row has none to refer to\n`]
}

function createTest(resource: Resource, rows: Rows, create: Operation): string {
  const { one, table, key } = resource
  const required = rows.fields.find(({ field }) => field.taken === 'always' && !field.isFilled)?.field
  const links = linkLines(resource, create)
  const id = `body${memberText(key.name)}`
  return testOf(`${withArticle(one)} is stored as it is sent`, [
    `const { status, body${links.length > 0 ? ', headers' : ''} } = await add(sent[0])`,
    `t.equal(status, ${successOf(create)?.status})`,
    shownLine(rows),
    't.strictSame({ ...body, ...shown }, body)',
    ...links,
    `const [row] = await sql\`select * from ${sqlName(table)} where ${sqlName(key.column)} = \${${id}}\``,
    `t.strictSame({ ...row, ${storedColumns(rows)} }, { ...row })`,
    ...conflictsOf(resource, rows).map((each) =>
      conflictLine(`await add({ ...sent[1], ${keyName(each.name)}: ${each.value} })`, each),
    ),
    required && `const { ${keyName(required.name)}: _, ...rest } = sent[1]`,
    required && `t.equal((await add(rest)).status, 400, 'without ${required.name}')`,
  ])
}

// Writes the first row as a response shows it.
function shownLine({ fields }: Rows): string {
  const hidden = fields.filter(({ field }) => field.shown === undefined)
  if (hidden.length === 0) return 'const shown = sent[0]'
  const names = hidden.map(({ field: { name } }, i) => `${keyName(name)}: _${i}`)
  return `const { ${names.join(', ')}, ...shown } = sent[0]`
}

// Checks the location of the new row, and its entity tag.
function linkLines(resource: Resource, create: Operation): string[] {
  const { get } = resource.operations
  if (get === undefined) return []
  const isTagged = setsHeader(create, 'ETag') && setsHeader(get, 'ETag')
  if (!setsHeader(create, 'Location') && !isTagged) return []
  const place = setsHeader(create, 'Location')
    ? [
        "const location = headers.get('location') ?? ''",
        `const [, place = ''] = /${pathPattern(create.path, '.*')}/.exec(location) ?? []`,
        "const read = await call('GET', place)",
      ]
    : [`const read = await call('GET', ${pathTo(resource, get)})`]
  const tag = "t.equal(read.headers.get('etag'), headers.get('etag'))"
  return [...place, 't.strictSame(read.body, body)', ...(isTagged ? [tag] : [])]
}

const sameAsJson = [
  'text',
  'smallint',
  'integer',
  'double precision',
  'boolean',
  'uuid',
  'date',
  'timestamptz',
  'jsonb',
]

// Writes the columns of the first row whose values are the same in JSON and from the driver.
function storedColumns({ fields }: Rows): string {
  const pairs = fields.flatMap((given) => {
    const { sql } = given.field.type
    const value = valueIn(given, 0)
    const isSame = sameAsJson.includes(sql) || (sql === 'numeric' && typeof value === 'string')
    if (!isSame && sql !== 'bigint') return []
    const stored = sql === 'bigint' ? BigInt(String(value)) : value
    return [`${keyName(given.field.column)}: ${literal(stored)}`]
  })
  return pairs.join(', ')
}

function getTest(resource: Resource, { count }: Rows, get: Operation): string {
  const { one, key } = resource
  return testOf(`${withArticle(one)} is read by its ${key.name}`, [
    'const all: Record<string, unknown>[] = []',
    `for (const each of sent.slice(0, ${Math.min(count, 2)})) all.push((await add(each)).body)`,
    'for (const body of all) {',
    `  const answer = await call('GET', ${pathTo(resource, get)})`,
    `  t.equal(answer.status, ${successOf(get)?.status})`,
    '  t.strictSame(answer.body, body)',
    '}',
    `t.match(await call('GET', '${lostPath(resource, get)}'), ${lostText(resource)})`,
  ])
}

function removeTest(resource: Resource, { count }: Rows, remove: Operation): string {
  const { one, operations } = resource
  const { get } = operations
  const options = needsIfMatch(remove) ? `, { headers: { 'if-match': '*' } }` : ''
  const another = `{ headers: { 'if-match': '"another"' } }`
  const url = pathTo(resource, remove)
  const other = count > 1 ? get : undefined
  return testOf(`${withArticle(one)} is deleted once`, [
    other && 'const { body: other } = await add(sent[1])',
    'const { body } = await add(sent[0])',
    `const remove = () => call('DELETE', ${url}${options})`,
    ...(takesIfMatch(remove) ? [`t.equal((await call('DELETE', ${url}, ${another})).status, 412)`] : []),
    ...(needsIfMatch(remove) ? [`t.equal((await call('DELETE', ${url})).status, 428)`] : []),
    `t.equal((await remove()).status, ${successOf(remove)?.status})`,
    `t.match(await remove(), ${lostText(resource)})`,
    get && `t.match(await call('GET', ${pathTo(resource, get)}), ${lostText(resource)})`,
    other && `t.strictSame((await call('GET', ${pathTo(resource, other, 'other')})).body, other)`,
  ])
}
