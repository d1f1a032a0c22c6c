// Writes the test of a resource's change: of each field, of parts of objects, of null, and of each refusal.

import type { Operation } from 'contract-engine'
import { fieldsOf, type ResourceField } from './fields.js'
import { type FieldChange, fieldChanges } from './merges.js'
import { jsonSchemaIn, setsHeader, successOf, takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import { type GivenField, isUnique, type Rows, valueIn } from './rows.js'
import { literal } from './samples.js'
import { conflictLine, conflictsOf, lostPath, lostText, needsIfMatch, pathTo, testOf } from './test-parts.js'
import { keyName, withArticle } from './words.js'

/** Returns the text of the test; undefined if no field can be both changed and read back. */
export function changeTest(resource: Resource, rows: Rows, change: Operation): string | undefined {
  const type = change.body?.contents.find(({ kind }) => kind === 'json')?.mediaType
  const able = changeable(resource, rows, change)
  if (able.length === 0 || type === undefined) return undefined
  const { get } = resource.operations
  const url = pathTo(resource, change)
  const needed = needsIfMatch(change) ? `, 'if-match': '*'` : ''
  const isOther = rows.count > 1
  return testOf(`${withArticle(resource.one)} is changed in the fields that are sent`, [
    ...(isOther && get
      ? ['const { body: first } = await add(sent[0])']
      : isOther
        ? ['await add(sent[0])']
        : []),
    `const { body } = await add(sent[${isOther ? 1 : 0}])`,
    `const headers: Record<string, string> = { 'content-type': '${type}'${needed} }`,
    'const change = (changes: object, more = {}) =>',
    `  call('PATCH', ${url}, { headers: { ...headers, ...more }, body: changes })`,
    ...caseLines(resource, rows, change, able),
    ...(isOther && get
      ? [
          `const other = await call('GET', ${pathTo(resource, get, 'first')})`,
          "t.strictSame(other.body, first, 'the other is as it was')",
        ]
      : []),
    ...conflictsOf(resource, rows)
      .filter(({ name }) => able.some(({ given }) => given.field.name === name))
      .map((each) => conflictLine(`await change({ ${keyName(each.name)}: ${each.value} })`, each)),
    ...conditionLines(resource, change, url, type),
    `const lost = await call('PATCH', '${lostPath(resource, change)}', { headers, body: {} })`,
    `t.match(lost, ${lostText(resource)})`,
  ])
}

interface Changeable {
  readonly given: GivenField
  /** The same field in the schema of the patch. */
  readonly patch: ResourceField
}

function changeable({ reader, key }: Resource, { fields }: Rows, change: Operation): Changeable[] {
  const patched = fieldsOf(reader, jsonSchemaIn(change.body?.contents), undefined)
  return fields.flatMap((given) => {
    const { name, shown } = given.field
    const patch = patched.find((each) => each.name === name)
    return patch?.shown && shown && given.field !== key ? [{ given, patch }] : []
  })
}

function caseLines(resource: Resource, rows: Rows, change: Operation, able: readonly Changeable[]): string[] {
  const all = able.flatMap((each) => changesOf(resource, rows, each))
  const refused = all.filter(({ isRefused }) => isRefused).map(({ sent }) => sent)
  const cases = all.filter(({ isRefused }) => !isRefused).map(({ sent, left }) => `[${sent}, ${left}]`)
  const { status = '200', contents = [] } = successOf(change) ?? {}
  const { get } = resource.operations
  const url = pathTo(resource, change)
  const isRead = contents.length > 0 || get !== undefined
  const isTold = setsHeader(change, 'ETag') && get !== undefined && setsHeader(get, 'ETag')
  return [
    ...(refused.length === 0
      ? []
      : [
          `const refused: object[] = [${refused.join(', ')}]`,
          'for (const each of refused) t.equal((await change(each)).status, 400, JSON.stringify(each))',
        ]),
    `const cases: [sent: object, shown: object][] = [${cases.join(', ')}]`,
    ...(isRead ? [plainLine(resource), 'let expected = body'] : []),
    `for (const [changes${isRead ? ', shown' : ''}] of cases) {`,
    '  const answer = await change(changes)',
    `  t.equal(answer.status, ${status}, JSON.stringify(changes))`,
    ...(isRead
      ? [
          '  expected = { ...expected, ...shown }',
          `  const { body: found } = ${contents.length > 0 ? 'answer' : `await call('GET', ${url})`}`,
          '  t.strictSame(plain(found), plain(expected), JSON.stringify(changes))',
        ]
      : []),
    ...(isTold
      ? [`  t.equal(answer.headers.get('etag'), (await call('GET', ${url})).headers.get('etag'))`]
      : []),
    '}',
  ]
}

// Removes undefined fields, and fields that the service sets, such as a version.
function plainLine({ fields, key }: Resource): string {
  const own = fields.filter((each) => each.shown && each.taken === undefined && each !== key)
  if (own.length === 0) return 'const plain = (row: object) => JSON.parse(JSON.stringify(row))'
  const names = own.map(({ name }, i) => `${keyName(name)}: _${i}`).join(', ')
  return `const plain = ({ ${names}, ...row }: Record<string, unknown>) => JSON.parse(JSON.stringify(row))`
}

// Returns the changes of one field, in TypeScript. They apply to the second row, or to the only one.
function changesOf(resource: Resource, rows: Rows, { given, patch }: Changeable) {
  const { field } = given
  const first = valueIn(given, rows.count > 1 ? 1 : 0)
  const all = fieldChanges(resource.reader, field, patch, first, otherValue(resource, rows, given, first))
  return all.map(({ sent, left, isRefused = false }: FieldChange) => ({
    sent: literal({ [field.name]: sent }),
    left: literal({ [field.name]: left }),
    isRefused,
  }))
}

// Returns the spare row's value. If rows may share a value, it may also be that of any other row.
function otherValue(resource: Resource, rows: Rows, given: GivenField, first: unknown): unknown {
  if (isUnique(resource, given.field) && given.values.length <= rows.count) return first
  const isOther = (each: unknown) => JSON.stringify(each) !== JSON.stringify(first)
  return [valueIn(given, rows.count), ...given.values].find(isOther) ?? first
}

function conditionLines(
  { operations: { get } }: Resource,
  change: Operation,
  url: string,
  type: string,
): string[] {
  const { status = '200' } = successOf(change) ?? {}
  const isTagged = takesIfMatch(change) && get !== undefined && setsHeader(get, 'ETag')
  return [
    ...(isTagged
      ? [
          `const tag = (await call('GET', ${url})).headers.get('etag')`,
          `t.equal((await change({}, { 'if-match': tag })).status, ${status})`,
        ]
      : []),
    ...(takesIfMatch(change) ? [`t.equal((await change({}, { 'if-match': '"another"' })).status, 412)`] : []),
    ...(needsIfMatch(change)
      ? [
          `const blind = { headers: { 'content-type': '${type}' }, body: {} }`,
          `t.equal((await call('PATCH', ${url}, blind)).status, 428)`,
        ]
      : []),
  ]
}
