// Writes pieces of a resource's test, in TypeScript.

import type { Operation } from 'contract-engine'
import { takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import type { Rows } from './rows.js'
import { literal } from './samples.js'
import { keyName } from './words.js'

/** Returns a test, with only the results of `start` that it uses. */
export function testOf(title: string, lines: readonly (string | undefined)[]): string {
  const body = lines.filter((each) => each !== undefined).map((line) => `  ${line}\n`)
  const isUsed = (name: string) =>
    body.some((line) => line.includes(`${name}(`) || line.includes(`${name}\``))
  return `t.test('${title}', async (t) => {
  const { ${['call', 'add', 'sql'].filter(isUsed).join(', ')} } = await start(t)
${body.join('')}})
`
}

/** A row that a constraint refuses. */
export interface Conflict {
  readonly name: string
  /** TypeScript code for a value of the field. The row is refused once the first row exists. */
  readonly value: string
  readonly code: string
  readonly status: number
}

/** Returns the conflicts that a test can cause: a value that another row has, and a reference to no row. */
export function conflictsOf({ table, statusOf }: Resource, { fields, count }: Rows): Conflict[] {
  return fields.flatMap(({ field: { name, unique, references }, values }) => {
    const { code, table: target } = references ?? {}
    const isLost = code !== undefined && target !== table && values.length > count + 1
    const of = (value: string, code: string) => ({ name, value, code, status: statusOf(code) })
    return [
      ...(typeof unique === 'string' && count > 1 ? [of(`sent[0]${memberText(name)}`, unique)] : []),
      ...(isLost ? [of(literal(values.at(-1)), code)] : []),
    ]
  })
}

/** Returns the assertion that an answer is a conflict. */
export function conflictLine(answer: string, { status, code }: Conflict): string {
  return `t.match(${answer}, { status: ${status}, body: { code: '${code}' } })`
}

/** Returns the path of a row. */
export function pathTo({ key }: Resource, { path }: Operation, row = 'body'): string {
  return `\`${path.replace(/\{[^{}]+\}$/, () => `\${${row}${memberText(key.name)}}`)}\``
}

/** Returns a path with a well-formed key that no row has. */
export function lostPath({ key }: Resource, { path }: Operation): string {
  const isNumber = /^(smallint|integer|bigint|numeric)$/.test(key.type.sql)
  const ofText = key.type.sql === 'uuid' ? '00000000-0000-4000-8000-000000000000' : 'no-such'
  return path.replace(/\{[^{}]+\}$/, isNumber ? '9999' : ofText)
}

/** Returns the expected answer for a row that does not exist. */
export function lostText({ lost }: Resource): string {
  return `{ status: 404, body: { code: '${lost}' } }`
}

/** Returns a pattern that finds a path in a link, behind the contract's prefix. */
export function pathPattern(path: string, rest: string): string {
  return `(${path.replace(/[$()*+.?[\\\]^{|}/]/g, '\\$&')}${rest})`
}

/** True if requests must have `If-Match`. */
export function needsIfMatch(operation: Operation): boolean {
  return takesIfMatch(operation) && operation.responses.has('428')
}

/** Returns the code that reads a field of a row. */
export function memberText(name: string): string {
  return keyName(name) === name ? `.${name}` : `[${keyName(name)}]`
}
