// generated/client.ts: the type of the client, with a function per operation, and the table it needs at run time: how to call each
// operation, and where int64 values are in its responses.

import type {
  ClientBody,
  ClientField,
  ClientOperation,
  ClientTable,
  Place,
  Places,
} from '../../src/client/table.js'
import { isBig } from '../../src/lib/exact-number.js'
import {
  type AnySchema,
  type Content,
  type Contract,
  essence,
  type Field,
  isJson,
  isRange,
  mapSchemas,
  type Node,
  nodeOf,
  type Operation,
  Reader,
  type Response,
  resolvePointer,
} from '../../src/openapi/index.js'
import { header, importOf } from './header.js'
import { type Notation, namedType, notationOf } from './notation.js'
import { requestType } from './operations.js'
import { generateTypes, hasDefault } from './types.js'

/** The text of generated/client.ts. @param types the text of generated/types.ts */
export function generateClient(contract: Contract, types = generateTypes(contract)): string {
  const notation = notationOf(contract, types)
  const calls = sorted(contract.operations)
    .map((operation) => callType(operation, contract.document, notation))
    .join('\n')
  const imports = [
    importOf(['Call', 'Unfilled'], calls, '../src/client/call.js'),
    "import type { ClientTable } from '../src/client/table.js'\n",
    importOf(['WithFiles'], calls, './operations.js'),
    importOf(['operations', 'Readable', 'Writable'], calls, './types.js', [...notation.used].sort()),
  ]
  return `${header}${imports.join('')}
/** A function for each operation of the contract. */
export interface Calls {
${calls}
}

/** What of the contract the client needs at run time. */
export const table: ClientTable = ${JSON.stringify(clientTable(contract), null, 2)} as const
`
}

/** The operations of the contract, and the places of int64 values in their responses. */
export function clientTable({ document, operations }: Contract): ClientTable {
  const places = new Int64Places(new Reader(document))
  const entries = sorted(operations).map((each) => [clientName(each), tableEntry(each, places)])
  const schemas = [...places.schemas].flatMap(([ref, place]) =>
    place === undefined ? [] : [[ref, place] as const],
  )
  schemas.sort(([a], [b]) => (a < b ? -1 : 1))
  return { operations: Object.fromEntries(entries), schemas: Object.fromEntries(schemas) }
}

function sorted(operations: Contract['operations']): Operation[] {
  return [...operations.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

// The client's own names, those every object inherits, and `then`, which would make the client a thenable.
const taken = ['pages', 'items', 'then', ...Object.getOwnPropertyNames(Object.prototype)]

// An operationId that is not an identifier gets the name of its module.
function clientName({ id, name }: Operation): string {
  const own = /^[\p{L}_$][\p{L}\d_$]*$/u.test(id) ? id : name
  return taken.includes(own) ? `${own}Operation` : own
}

function callType(operation: Operation, document: object, notation: Notation): string {
  const { id } = operation
  const name = clientName(operation)
  const answers = goodAnswers(operation).flatMap(({ key, contents }) => {
    const at = `operations[${JSON.stringify(id)}]['responses'][${JSON.stringify(key)}]['content']`
    const types = contents.map((content) => dataType(content, at, notation))
    return types.length > 0 ? types : ['undefined']
  })
  const data = [...new Set(answers)].join(' | ') || 'unknown'
  const body = sentType(operation, document, notation)
  const comment = documentation(operation).map((line) => `   * ${line}`.trimEnd())
  return `  /**
${comment.join('\n')}
   */
  readonly ${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: Call<operations[${JSON.stringify(id)}], ${data}${body}>`
}

function dataType(content: Content, at: string, notation: Notation): string {
  if (content.kind !== 'json') return content.kind === 'text' ? 'string' : 'Uint8Array'
  const type = namedType(content, notation) ?? `${at}[${JSON.stringify(content.mediaType)}]`
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}

// The body type if it differs from openapi-fetch's own: several media types, one other than JSON, or properties with defaults.
function sentType(operation: Operation, document: object, notation: Notation): string {
  const { id, body } = operation
  const sent = sentContent(operation)
  if (body === undefined || sent === undefined) return ''
  const filled = filledNames(document, sent.schema).map((name) => JSON.stringify(name))
  if (body.contents.length === 1 && isPlainJson(sent.mediaType) && filled.length === 0) return ''
  const type = requestType(id, sent, notation, 'Uint8Array | Blob')
  const whole = filled.length === 0 ? type : `Unfilled<${type}, ${filled.join(' | ')}>`
  return `, { body${body.required ? '' : '?'}: ${whole} }`
}

// The names of properties that have a default everywhere in a body.
function filledNames(document: object, schema: AnySchema | undefined): string[] {
  const reader = new Reader(document)
  const isFilled = new Map<string, boolean>()
  const seen = new Set<string>()
  const look = (from: AnySchema): unknown =>
    mapSchemas(from, (each) => {
      for (const [name, field] of Object.entries(nodeOf(each.properties)))
        isFilled.set(name, isFilled.get(name) !== false && hasDefault(reader, field))
      const { $ref } = each
      if (typeof $ref === 'string' && !seen.has($ref)) {
        seen.add($ref)
        look(reader.node(each))
      }
      return each
    })
  look(schema ?? {})
  return [...isFilled].flatMap(([name, is]) => (is ? [name] : []))
}

// The content the client sends: JSON if possible.
function sentContent({ body }: Operation): Content | undefined {
  const { contents = [] } = body ?? {}
  return (
    contents.find(({ mediaType }) => isPlainJson(mediaType)) ??
    contents.find(({ kind }) => kind === 'json') ??
    contents[0]
  )
}

function isPlainJson(mediaType: string): boolean {
  return essence(mediaType) === 'application/json'
}

// Editors strike through a name with `@deprecated`.
function documentation({ method, path, summary, definition, deprecation }: Operation): string[] {
  const description = definition.description
  const texts = [summary, description].filter(
    (each): each is string => typeof each === 'string' && each.trim() !== '',
  )
  const lines = texts.flatMap((text, index) => [...(index > 0 ? [''] : []), ...text.trim().split('\n')])
  const told = lines.length > 0 ? lines : [`${method} ${path}`]
  // A line that starts with @ would be a tag.
  return [
    ...told.map((line) => line.replaceAll('*/', '*\\/').replace(/^(\s*)@/, '$1\\@')),
    ...(deprecation === undefined ? [] : ['', `@deprecated ${deprecationText(deprecation)}`]),
  ]
}

function deprecationText({ deprecatedAt, sunset, successor }: NonNullable<Operation['deprecation']>): string {
  const day = (date: Date) => date.toISOString().slice(0, 10)
  const end = sunset === undefined ? '' : `, ends on ${day(sunset)}`
  return `since ${day(deprecatedAt)}${end}.${successor === undefined ? '' : ` Use \`${successor}\` instead.`}`
}

// The responses a call may resolve with: 2xx, or `default` if there is none.
function goodAnswers({ responses }: Operation): Response[] {
  const all = [...responses.values()]
  const declared = all.filter(({ status }) => /^2(\d\d|xx)$/.test(status))
  return declared.length > 0 ? declared : all.filter(({ status }) => status === 'default')
}

function tableEntry(operation: Operation, places: Int64Places): ClientOperation {
  const { method, path, parameters: declared } = operation
  const formed = declared.flatMap(({ name, in: location, form }) => {
    return form === undefined ? [] : { name, in: location, style: form.style, explode: form.explode }
  })
  const int64 = int64Of(operation, places)
  const answers = goodAnswers(operation)
  const isJsonAlone = answers.every(({ contents }) => contents.every(({ kind }) => kind === 'json'))
  return {
    method,
    path,
    ...(operation.isIdempotent && { idempotent: true }),
    ...(formed.length > 0 && { parameters: formed }),
    ...bodyOf(sentContent(operation)),
    ...(!isJsonAlone && { contents: Object.fromEntries(answers.map(contentsOf)) }),
    ...(Object.keys(int64).length > 0 && { int64 }),
  }
}

function int64Of(operation: Operation, places: Int64Places): Record<string, Place> {
  const { reader } = places
  const item = reader.node(reader.node(reader.document.paths)[operation.path])
  const responses = reader.node(reader.node(item[operation.method.toLowerCase()]).responses)
  const found = goodAnswers(operation).map(({ status, key }) => {
    const contents = Object.entries(reader.node(reader.node(responses[key]).content))
    const [, media] = contents.find(([mediaType]) => isJson(mediaType)) ?? []
    return [status, places.of(reader.node(media).schema)] as const
  })
  // A status without int64 needs an entry if its class has one.
  const isInClass = found.some(([status, place]) => status === '2xx' && place !== undefined)
  const kept = found.filter(([, place]) => place !== undefined || isInClass)
  return Object.fromEntries(kept.map(([status, place]) => [status, place ?? {}]))
}

class Int64Places {
  /** By `$ref`; undefined for a schema without int64. */
  readonly schemas = new Map<string, Place | undefined>()

  constructor(readonly reader: Reader) {}

  /** Undefined for a schema without int64, to keep the table small. */
  of(value: unknown): Place | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const schema = value as Node
    if (typeof schema.$ref === 'string') return this.#reference(schema.$ref as `#/${string}`)
    if ([schema.type].flat().includes('integer') && isBig(schema.format)) return 'int64'
    const each = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
      list(schema[keyword]).flatMap((one) => this.of(one) ?? []),
    )
    const additional = this.#additional(schema)
    const items = this.of(schema.items)
    // A property without int64 needs an entry only as an exception from additionalProperties.
    const properties = Object.entries(nodeOf(schema.properties))
      .map(([name, one]) => [name, this.of(one) ?? null] as const)
      .filter(([, place]) => place !== null || additional !== undefined)
    const prefix = list(schema.prefixItems).map((one) => this.of(one) ?? null)
    const places: Places = {
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(additional !== undefined && { additional }),
      ...((items !== undefined || prefix.some((one) => one !== null)) && prefix.length > 0 && { prefix }),
      ...(items !== undefined && { items }),
      ...(each.length > 0 && { each }),
    }
    return Object.keys(places).length > 0 ? places : undefined
  }

  // As in the types, patterns are not distinguished: a property that matches any pattern may have any of their schemas.
  #additional(schema: Node): Place | undefined {
    const others = [schema.additionalProperties, ...Object.values(nodeOf(schema.patternProperties))]
    const each = others.flatMap((one) => this.of(one) ?? [])
    return each.length > 1 ? { each } : each[0]
  }

  // A schema may refer to itself: it is added before its subschemas are read.
  #reference(ref: `#/${string}`): Place | undefined {
    if (!this.schemas.has(ref)) {
      this.schemas.set(ref, {})
      const place = this.of(resolvePointer(this.reader.document, ref))
      this.schemas.set(ref, place !== undefined && leadsToInt64(place, ref) ? place : undefined)
    }
    return this.schemas.get(ref) && ref
  }
}

function contentsOf({ status, contents }: Response) {
  const kinds = contents.map(({ mediaType, kind }) => [
    essence(mediaType),
    kind === 'json' || kind === 'text' ? kind : 'bytes',
  ])
  return [status, Object.fromEntries(kinds)] as const
}

function bodyOf(content: Content | undefined): { readonly body?: ClientBody } {
  if (content === undefined || isPlainJson(content.mediaType)) return {}
  const { kind, mediaType, fields = new Map<string, Field>() } = content
  const special = [...fields].flatMap(([name, field]) => {
    const written = fieldOf(field)
    return Object.keys(written).length > 0 ? [[name, written] as const] : []
  })
  return {
    body: {
      kind,
      ...(!isRange(mediaType) && { mediaType: essence(mediaType) }),
      ...(special.length > 0 && { fields: Object.fromEntries(special) }),
    },
  }
}

function fieldOf({ kind, separator, mediaTypes: [mediaType] }: Field): ClientField {
  return {
    ...(kind === 'json' && { isJson: true }),
    ...(separator !== undefined && { separator }),
    ...(kind === 'file' && mediaType !== undefined && !isRange(mediaType) && { mediaType }),
  }
}

// Whether a place contains an int64, other than by a reference back to itself.
function leadsToInt64(place: Place, self: string): boolean {
  if (typeof place === 'string') return place !== self
  const { properties = {}, additional, prefix = [], items, each = [] } = place
  const inner = [...Object.values(properties), additional, ...prefix, items, ...each]
  return inner.some((one) => one !== undefined && one !== null && leadsToInt64(one, self))
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
