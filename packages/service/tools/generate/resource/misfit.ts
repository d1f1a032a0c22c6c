// Tells why the handler of an operation is not proposed: no operation of a resource takes or returns such
// things.

import type { Operation } from 'contract-engine'
import { byStatus, type Reader } from 'contract-engine/tools'
import { isLike } from './column-types.js'
import { fieldsOf, isAlways, namesIn, type ResourceField } from './fields.js'
import { jsonSchemaIn, type Role, successOf } from './operations.js'

/** Returns the reason; undefined if the operation fits. A list may have further reasons (list.ts). */
export function misfit(
  reader: Reader,
  role: Role,
  operation: Operation,
  fields: readonly ResourceField[],
): string | undefined {
  const { parameters, unsupported, body, responses } = operation
  const query = role === 'list' ? undefined : parameters.find((each) => each.in === 'query')
  const header = foreignHeader(operation)
  const schema = jsonSchemaIn(body?.contents)
  const hasBody = role === 'create' || role === 'change'
  const reasons: readonly (readonly [isFault: boolean, text: string])[] = [
    [unsupported.length > 0, unsupported[0] ?? ''],
    [!hasOwnPath(role, operation), 'its path has other parameters'],
    [query !== undefined, `its parameter ${query?.name} is not one of a resource`],
    [header !== undefined, `its response has to have the header ${header}`],
    [hasBody && (schema === undefined || !body?.required), 'it has no body of JSON that is required'],
    [!isOfCollection(role) && byStatus(responses)(404) === undefined, 'it declares no response for 404'],
  ]
  const [, text] = reasons.find(([isFault]) => isFault) ?? []
  if (text !== undefined || role !== 'change') return text
  return misfitChange(reader, schema, fields) ?? misfitMerge(reader, operation, schema)
}

function isOfCollection(role: Role): boolean {
  return role === 'create' || role === 'list'
}

function hasOwnPath(role: Role, { path }: Operation): boolean {
  return (path.match(/\{/g) ?? []).length === (isOfCollection(role) ? 0 : 1)
}

// Returns a required header of the response that no proposed handler sets.
function foreignHeader(operation: Operation): string | undefined {
  const known = ['location', 'link', 'etag']
  const headers = successOf(operation)?.headers ?? []
  return headers.find(
    ({ name, required, setByServer }) => required && !setByServer && !known.includes(name.toLowerCase()),
  )?.name
}

// A merged object is checked only by the schema of the response: without a body, an incomplete one would
// pass.
function misfitMerge(reader: Reader, operation: Operation, schema: unknown): string | undefined {
  if ((successOf(operation)?.contents ?? []).length > 0) return undefined
  const merged = fieldsOf(reader, schema, undefined).find((each) => isObject(reader, each.schema))
  return (
    merged && `its field ${merged.name} is merged, and no response with a body tells whether that is valid`
  )
}

function isObject(reader: Reader, given: unknown): boolean {
  const { type, properties, anyOf, oneOf } = reader.node(given)
  const choices = [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  const isOne = [type].flat().includes('object') || properties !== undefined
  return isOne || choices.some((each) => isObject(reader, each))
}

function misfitChange(reader: Reader, schema: unknown, fields: readonly ResourceField[]): string | undefined {
  for (const { name, isNullable, schema: each } of fieldsOf(reader, schema, undefined)) {
    if (each.readOnly === true) continue
    const field = fields.find((field) => field.name === name)
    if (field === undefined) return `its field ${name} is none of the resource`
    if (isNullable && isAlways(field)) return `its field ${name} may be null, and is required in the resource`
    if (!isLike(reader, each, field)) return `its field ${name} has another type than that of the resource`
  }
  return namesIn(reader, schema).length === 0 ? 'its body has no fields' : undefined
}
