// Pieces of a resource's test, in TypeScript.

import type { Operation } from 'contract-engine'
import { takesIfMatch } from './operations.js'
import type { Resource } from './resource.js'
import type { Rows } from './rows.js'
import { literal } from './samples.js'
import { keyName } from './words.js'

/** A test, with what it takes of `start`. */
export function testOf(title: string, lines: readonly (string | undefined)[]): string {
  const body = lines.filter((each) => each !== undefined).map((line) => `  ${line}\n`)
  const isUsed = (name: string) =>
    body.some((line) => line.includes(`${name}(`) || line.includes(`${name}\``))
  return `t.test('${title}', async (t) => {
  const { ${['call', 'add', 'sql'].filter(isUsed).join(', ')} } = await start(t)
${body.join('')}})
`
}

/** A constraint's refusal. */
export interface Conflict {
  readonly name: string
  /** In TypeScript: a value of the field with which a row is refused, once the first is there. */
  readonly value: string
  readonly code: string
  readonly status: number
}

/** What constraints refuse: the value of another row, and one that refers to nothing. */
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

/** The assertion that an answer is a conflict. */
export function conflictLine(answer: string, { status, code }: Conflict): string {
  return `t.match(${answer}, { status: ${status}, body: { code: '${code}' } })`
}

/** The path of a row. */
export function pathTo({ key }: Resource, { path }: Operation, row = 'body'): string {
  return `\`${path.replace(/\{[^{}]+\}$/, () => `\${${row}${memberText(key.name)}}`)}\``
}

/** A path with a key of the right form that no row has. */
export function lostPath({ key }: Resource, { path }: Operation): string {
  const isNumber = /^(smallint|integer|bigint|numeric)$/.test(key.type.sql)
  const ofText = key.type.sql === 'uuid' ? '00000000-0000-4000-8000-000000000000' : 'no-such'
  return path.replace(/\{[^{}]+\}$/, isNumber ? '9999' : ofText)
}

/** The answer where there is no row. */
export function lostText({ lost }: Resource): string {
  return `{ status: 404, body: { code: '${lost}' } }`
}

/** Finds what follows the prefix of the contract's paths in a link. */
export function pathPattern(path: string, rest: string): string {
  return `(${path.replace(/[$()*+.?[\\\]^{|}/]/g, '\\$&')}${rest})`
}

/** Whether requests have to have `If-Match`. */
export function needsIfMatch(operation: Operation): boolean {
  return takesIfMatch(operation) && operation.responses.has('428')
}

/** What reads a field of a row. */
export function memberText(name: string): string {
  return keyName(name) === name ? `.${name}` : `[${keyName(name)}]`
}
