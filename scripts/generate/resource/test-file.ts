// The test of a resource: real requests to the production application.

import type { Operation } from 'contract-engine'
import { capitalized } from 'contract-engine/lib/texts'
import { fieldsOf, type ResourceField } from './fields.js'
import { constraintOf } from './migration.js'
import { jsonSchemaIn, setsHeader, successOf, takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import { literal, sampleOf, varied } from './samples.js'
import { keyName, sqlName, withArticle } from './words.js'

/** The text of the test; undefined if nothing adds what it would read. */
export function testText(resource: Resource): string | undefined {
  const { operations, many } = resource
  const { create, get, list, change, remove } = operations
  if (create === undefined) return undefined
  const tests = [
    createTest(resource, create),
    get && getTest(resource, get),
    list && listTest(resource, list),
    change && changeTest(resource, change),
    remove && removeTest(resource, remove),
  ]
  return `// ${capitalized(many)} are what the contract says, from a request to the row that stores them.

import t, { type Test } from 'tap'
import { startService } from '../fixtures/service.js'

${sampleText(resource)}
${startText(resource, create)}
${tests.filter((each) => each !== undefined).join('\n')}`
}

function testOf(title: string, parts: string, lines: readonly (string | undefined)[]): string {
  const body = lines.filter((each) => each !== undefined).map((line) => `  ${line}\n`)
  return `t.test('${title}', async (t) => {
  const { ${parts} } = await start(t)
${body.join('')}})
`
}

function sentFields({ fields }: Resource): readonly ResourceField[] {
  return fields.filter(({ taken }) => taken !== undefined)
}

// Those of which several rows cannot have one value: the key, if clients choose it, and what the contract says.
function isUnique({ key }: Resource, field: ResourceField): boolean {
  return field === key || field.unique !== undefined
}

// Those that the test sends: an optional one only with a value.
function givenFields(resource: Resource): readonly ResourceField[] {
  return sentFields(resource).filter(
    ({ taken, schema }) => taken === 'always' || sampleOf(resource.reader, schema) !== undefined,
  )
}

// The text of a value that each row has for itself.
function ownText(resource: Resource, field: ResourceField): string | undefined {
  return isUnique(resource, field) ? variedText(resource, field) : undefined
}

function variedText({ reader }: Resource, field: ResourceField): string | undefined {
  return varied(field, sampleOf(reader, field.schema))
}

function sampleText(resource: Resource): string {
  const { reader, one } = resource
  const lines = givenFields(resource).map((field) => {
    const value = sampleOf(reader, field.schema)
    const todo = value === undefined ? ' // it needs a value of yours, or an example in the contract' : ''
    return `  ${keyName(field.name)}: ${ownText(resource, field) ?? literal(value ?? '')},${todo}\n`
  })
  const isVaried = givenFields(resource).some((field) => ownText(resource, field) !== undefined)
  return `// ${capitalized(withArticle(one))} as a client sends it.
const sent = (${isVaried ? 'i' : '_'}: number) => ({
${lines.join('')}})
`
}

// Whether several rows can be stored at once.
function canBeMany(resource: Resource): boolean {
  return sentFields(resource).every(
    (field) => !isUnique(resource, field) || variedText(resource, field) !== undefined,
  )
}

function startText({ table, fields }: Resource, { path }: Operation): string {
  const drops = fields
    .filter(({ references }) => references !== undefined)
    .map((field) => `alter table ${sqlName(table)} drop constraint ${constraintOf(table, field, 'fkey')}`)
    .map((text) => `  await service.sql\`${text}\` // what it refers to has a test of its own\n`)
  return `async function start(t: Test) {
  const service = await startService(t)
${drops.join('')}  const add = (i: number) => service.call('POST', '${path}', { body: sent(i) })
  return { call: service.call, add }
}
`
}

function createTest(resource: Resource, create: Operation): string {
  const { one } = resource
  const fields = givenFields(resource)
  const hidden = fields.filter(({ shown }) => shown === undefined)
  const required = fields.find(({ taken, isFilled }) => taken === 'always' && !isFilled)
  const unique = canBeMany(resource) ? fields.find((each) => typeof each.unique === 'string') : undefined
  return testOf(`${withArticle(one)} is stored as it is sent`, required ? 'call, add' : 'add', [
    'const { status, body } = await add(1)',
    `t.equal(status, ${successOf(create)?.status})`,
    hidden.length === 0
      ? 't.match(body, sent(1))'
      : `const { ${hidden.map(({ name }) => `${keyName(name)}: _${name}`).join(', ')}, ...shown } = sent(1)`,
    hidden.length === 0 ? undefined : 't.match(body, shown)',
    unique && `t.match(await add(1), { body: { code: '${unique.unique}' } })`,
    required && `const { ${keyName(required.name)}: _, ...rest } = sent(2)`,
    required &&
      `t.equal((await call('POST', '${create.path}', { body: rest })).status, 400, 'without ${required.name}')`,
  ])
}

function getTest(resource: Resource, get: Operation): string {
  const { one, key } = resource
  return testOf(`${withArticle(one)} is read by its ${key.name}`, 'call, add', [
    'const { body } = await add(1)',
    `t.match(await call('GET', \`${pathTo(resource, get)}\`), { status: 200, body })`,
    `t.match(await call('GET', '${lostPath(resource, get)}'), ${lostText(resource)})`,
  ])
}

function listTest(resource: Resource, list: Operation): string {
  const { many, reader } = resource
  const { orders = [], filters = [], orderParameter } = resource.list ?? {}
  const isMany = canBeMany(resource)
  const numbers = isMany ? '[1, 2, 3]' : '[1]'
  const queryOf = (given: Readonly<Record<string, unknown>>) => {
    const required = list.parameters.filter((each) => each.in === 'query' && each.required)
    const samples = required.map(({ name, schema }) => [name, sampleOf(reader, schema)] as const)
    const all = Object.entries({
      ...Object.fromEntries(samples),
      limit: Math.min(resource.list?.limitMax ?? 100, 100),
      ...given,
    })
    return new URLSearchParams(
      all.map(([name, value]) => [name, String(value)] as [string, string]),
    ).toString()
  }
  const isPaged = isMany && setsHeader(list, 'Link')
  const pages = orders.map(({ name }) =>
    queryOf({ limit: 2, ...(orderParameter && { [orderParameter]: name }) }),
  )
  const equal = filters.find(
    ({ operator, field }) => operator === '=' && field.taken && !isUnique(resource, field),
  )
  const value = equal && sampleOf(reader, equal.field.schema)
  return testOf(`${many} are listed, page by page`, 'call, add', [
    'const all: unknown[] = []',
    `for (const i of ${numbers}) all.push((await add(i)).body)`,
    'const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort()',
    `t.strictSame(sorted((await call('GET', '${list.path}?${queryOf({})}')).body), sorted(all))`,
    ...(isPaged
      ? [
          `for (const query of [${pages.map((each) => `'${each}'`).join(', ')}]) {`,
          `  const first = await call('GET', \`${list.path}?\${query}\`)`,
          `  const [, next = ''] = /${pathPattern(list)}>/.exec(first.headers.get('link') ?? '') ?? []`,
          `  const second = await call('GET', next)`,
          `  t.strictSame([first.body.length, second.body.length], [2, 1], query)`,
          `  t.strictSame(sorted([...first.body, ...second.body]), sorted(all), query)`,
          '}',
        ]
      : []),
    ...(equal !== undefined && value !== undefined
      ? [
          `const found = await call('GET', '${list.path}?${queryOf({ [equal.parameter]: value })}')`,
          `t.equal(found.body.length, all.length, '${equal.parameter}')`,
        ]
      : []),
  ])
}

// Finds what follows the prefix of the contract's paths in a link.
function pathPattern({ path }: Operation): string {
  return `(${path.replace(/[$()*+.?[\\\]^{|}/]/g, '\\$&')}\\?[^<>]*)`
}

function changeTest(resource: Resource, change: Operation): string | undefined {
  const { one, key, reader, operations } = resource
  const contents = change.body?.contents ?? []
  const type = contents.find(({ kind }) => kind === 'json')?.mediaType
  const declared = fieldsOf(reader, jsonSchemaIn(contents), undefined).filter((each) => each.shown)
  const able = sentFields(resource).filter(
    (each) => each !== key && each.shown && declared.some(({ name }) => name === each.name),
  )
  const field = able.find((each) => isUnique(resource, each)) ?? able[0]
  if (field === undefined || type === undefined) return undefined
  const removable = declared.find((each) => each.isNullable && able.some(({ name }) => name === each.name))
  const { status = '200', contents: shown = [] } = successOf(change) ?? {}
  const isTagged = takesIfMatch(change) && operations.get !== undefined && setsHeader(operations.get, 'ETag')
  const url = `\`${pathTo(resource, change)}\``
  const condition = needsIfMatch(change) ? `, 'if-match': '*'` : ''
  return testOf(`${withArticle(one)} is changed in the fields that are sent`, 'call, add', [
    'const { body } = await add(1)',
    `const headers = { 'content-type': '${type}'${condition} }`,
    'const change = (changes: object, more = {}) =>',
    `  call('PATCH', ${url}, { headers: { ...headers, ...more }, body: changes })`,
    `const { ${keyName(field.name)}: changed } = sent(2)`,
    `const answer = await change({ ${keyName(field.name)}: changed })`,
    `t.equal(answer.status, ${status})`,
    ...matchLines(resource, change, url, field),
    ...(removable && shown.length > 0
      ? [
          `t.notOk((await change({ ${keyName(removable.name)}: null })).body${memberText(removable.name)}, 'null removes it')`,
        ]
      : []),
    ...(isTagged
      ? [
          `const tag = (await call('GET', ${url})).headers.get('etag')`,
          `t.equal((await change({}, { 'if-match': tag })).status, ${status})`,
          `t.equal((await change({}, { 'if-match': '"another"' })).status, 412)`,
        ]
      : []),
    ...(needsIfMatch(change)
      ? [
          `const blind = await call('PATCH', ${url}, { headers: { 'content-type': '${type}' }, body: {} })`,
          't.equal(blind.status, 428)',
        ]
      : []),
    `const lost = await call('PATCH', '${lostPath(resource, change)}', { headers, body: {} })`,
    `t.match(lost, ${lostText(resource)})`,
  ])
}

// What the service sets may differ after a change, such as a version.
function matchLines(
  { fields, key, operations }: Resource,
  change: Operation,
  url: string,
  { name }: ResourceField,
) {
  const isShown = (successOf(change)?.contents ?? []).length > 0
  if (!isShown && operations.get === undefined) return []
  const own = fields.filter((each) => each.shown && each.taken === undefined && each !== key)
  const names = own.map((each) => `'${each.name}'`).join(', ')
  const fault = own.length === 0 ? '' : `if (![${names}].includes(name)) `
  return [
    `const { body: found } = ${isShown ? 'answer' : `await call('GET', ${url})`}`,
    `const expected = { ...body, ${keyName(name)}: changed }`,
    ...(own.length === 0
      ? ['t.match(found, expected)']
      : [
          `for (const name of Object.keys(expected)) ${fault}t.strictSame(found[name], expected[name], name)`,
        ]),
  ]
}

function removeTest(resource: Resource, remove: Operation): string {
  const { one } = resource
  const options = needsIfMatch(remove) ? `, { headers: { 'if-match': '*' } }` : ''
  return testOf(`${withArticle(one)} is deleted once`, 'call, add', [
    'const { body } = await add(1)',
    `const remove = () => call('DELETE', \`${pathTo(resource, remove)}\`${options})`,
    `t.equal((await remove()).status, ${successOf(remove)?.status})`,
    `t.match(await remove(), ${lostText(resource)})`,
  ])
}

function needsIfMatch(operation: Operation): boolean {
  return takesIfMatch(operation) && operation.responses.has('428')
}

function lostText({ lost }: Resource): string {
  return `{ status: 404, body: { code: '${lost}' } }`
}

function pathTo({ key }: Resource, { path }: Operation): string {
  return path.replace(/\{[^{}]+\}$/, () => `\${body${memberText(key.name)}}`)
}

// With a key of the right form that no row has.
function lostPath({ key }: Resource, { path }: Operation): string {
  const isNumber = /^(smallint|integer|bigint|numeric)$/.test(key.type.sql)
  const ofText = key.type.sql === 'uuid' ? '00000000-0000-4000-8000-000000000000' : 'no-such'
  return path.replace(/\{[^{}]+\}$/, isNumber ? '9999' : ofText)
}

function memberText(name: string): string {
  return keyName(name) === name ? `.${name}` : `[${keyName(name)}]`
}
