// generated/client.ts: the type of the client, with a function, a request and the error responses of each
// operation, and the table it needs at run time: how to call each operation, and where int64 values are in
// its responses.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import type {
  ClientBody,
  ClientField,
  ClientOperation,
  ClientTable,
  Place,
  Places,
} from '../../src/client/table.js'
import { isBig } from '../../src/lib/exact-number.js'
import { projectRoot } from '../../src/lib/paths.js'
import {
  generateTypes,
  hasDefault,
  importOf,
  type Notation,
  namedType,
  notationOf,
  requestType,
} from '../../src/openapi/generate/index.js'
import type { Contract, Operation } from '../../src/openapi/index.js'
import {
  type AnySchema,
  type Content,
  essence,
  type Field,
  isJson,
  isRange,
  type Node,
  nodeOf,
  Reader,
  type Response,
  resolvePointer,
  schemasIn,
} from '../../src/openapi/tools.js'
import { header } from './header.js'

/** The text of generated/client.ts. @param types the text of generated/types.ts */
export function generateClient(contract: Contract, types = generateTypes(contract)): string {
  const operations = sorted(contract.operations)
  const names = requestNames(operations)
  const notation = notationOf(contract, types, [...names.values()])
  const requests = operations
    .map((each) => requestInterface(each, names.get(each) ?? '', contract.document, notation))
    .join('\n')
  const calls = operations.map((each) => callType(each, names.get(each) ?? '', notation)).join('\n')
  const errors = operations.map((each) => errorsType(each, notation)).join('\n')
  const text = `${requests}
/** A function for each operation of the contract. */
export interface Calls {
${calls}
}

/** The error responses that the contract declares for each operation. */
export interface Errors {
${errors}
}
`
  const imports = [
    importOf(['Call', 'RequestOf', 'StatusOf', 'Unfilled'], text, '../src/client/call.js'),
    "import type { ClientTable } from '../src/client/table.js'\n",
    importOf(['WithFiles'], text, './operations.js'),
    importOf(['operations', 'Readable', 'Writable'], text, './types.js', [...notation.used].sort()),
  ]
  return `${header}${imports.join('')}
${text}
/** What of the contract the client needs at run time. */
export const table: ClientTable = ${JSON.stringify(clientTable(contract), null, 2)} as const
`
}

/** The operations of the contract, and the places of int64 values in their responses. */
export function clientTable({ document, operations, prefix }: Contract): ClientTable {
  const places = new Int64Places(new Reader(document))
  const entries = sorted(operations).map((each) => [clientName(each), tableEntry(each, operations, places)])
  const schemas = [...places.schemas].flatMap(([ref, place]) =>
    place === undefined ? [] : [[ref, place] as const],
  )
  schemas.sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    agent: packageAgent(),
    prefix,
    operations: Object.fromEntries(entries),
    schemas: Object.fromEntries(schemas),
  }
}

// The name and version of the client's package (RFC 9110, section 10.1.5); a scope is no part of a product's
// name.
function packageAgent(): string {
  const file = path.join(projectRoot, 'src/client/package.json')
  const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string }
  return `${name.replace(/^@.*\//, '')}/${version}`
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

// By operation: `ListPetsRequest`. Names that differ only in the case of their first letter stay as they are.
function requestNames(operations: readonly Operation[]): ReadonlyMap<Operation, string> {
  const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
  const names = operations.map(clientName)
  const isShared = (name: string) => names.filter((other) => capital(other) === capital(name)).length > 1
  return new Map(
    operations.map((each, i) => {
      const name = names[i] ?? ''
      return [each, `${isShared(name) ? name : capital(name)}Request`]
    }),
  )
}

// A named type, so that editors show its name.
function requestInterface(operation: Operation, name: string, document: object, notation: Notation): string {
  const body = sentType(operation, document, notation)
  return `/** The request of \`${clientName(operation)}\`. */
export interface ${name} extends RequestOf<operations[${JSON.stringify(operation.id)}], ${body}> {}
`
}

function callType(operation: Operation, request: string, notation: Notation): string {
  const answers = goodAnswers(operation).flatMap((answer) => bodyTypes(operation, answer, notation))
  const data = [...new Set(answers)].join(' | ') || 'unknown'
  const comment = documentation(operation).map((line) => `   * ${line}`.trimEnd())
  return `  /**
${comment.join('\n')}
   */
  readonly ${memberName(operation)}: Call<${request}, ${data}>`
}

// The statuses with the same body share a line.
function errorsType(operation: Operation, notation: Notation): string {
  const errors = errorAnswers(operation)
  const statuses = new Map<string, string[]>()
  for (const answer of errors) {
    const body = bodyTypes(operation, answer, notation).join(' | ')
    statuses.set(body, [...(statuses.get(body) ?? []), errorStatus(answer, errors)])
  }
  const types = [...statuses].map(
    ([body, alike]) => `\n    | { readonly status: ${alike.join(' | ')}; readonly body: ${body} }`,
  )
  return `  readonly ${memberName(operation)}:${types.join('') || ' never'}`
}

// A status, or those of a class or of `default` that are not declared by themselves.
function errorStatus({ status }: Response, errors: readonly Response[]): string {
  const typeOf = (each: string) => (each.endsWith('xx') ? `StatusOf<${each.charAt(0)}>` : each)
  if (/^\d{3}$/.test(status)) return status
  const others = errors.filter((each) => each.status !== status && each.status !== 'default')
  const all = status === 'default' ? 'StatusOf<4 | 5>' : typeOf(status)
  const taken = others.map((each) => typeOf(each.status))
  return taken.length > 0 ? `Exclude<${all}, ${taken.join(' | ')}>` : all
}

// The types of a response's body, one for each media type.
function bodyTypes({ id }: Operation, { key, contents }: Response, notation: Notation): string[] {
  const at = `operations[${JSON.stringify(id)}]['responses'][${JSON.stringify(key)}]['content']`
  const types = contents.map((content) => dataType(content, at, notation))
  return types.length > 0 ? [...new Set(types)] : ['undefined']
}

function memberName(operation: Operation): string {
  const name = clientName(operation)
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? name : JSON.stringify(name)
}

function dataType(content: Content, at: string, notation: Notation): string {
  if (content.kind !== 'json') return content.kind === 'text' ? 'string' : 'Uint8Array'
  const type = namedType(content, notation) ?? `${at}[${JSON.stringify(content.mediaType)}]`
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}

// The body of a request; properties with a default may be absent.
function sentType(operation: Operation, document: object, notation: Notation): string {
  const { id, body } = operation
  if (body === undefined) return '{ readonly body?: never }'
  const sent = sentContent(operation)
  const type = sent === undefined ? 'unknown' : requestType(id, sent, notation, 'Uint8Array | Blob')
  const filled = filledNames(document, sent?.schema).map((name) => JSON.stringify(name))
  const whole = filled.length === 0 ? type : `Unfilled<${type}, ${filled.join(' | ')}>`
  return `{ readonly body${body.required ? '' : '?'}: ${whole} }`
}

// The names of properties that have a default everywhere in a body.
function filledNames(document: object, schema: AnySchema | undefined): string[] {
  const reader = new Reader(document)
  const isFilled = new Map<string, boolean>()
  const reached = new Set<AnySchema>([schema ?? {}]) // a Set iterates over what is added meanwhile, too
  for (const each of reached) {
    for (const part of schemasIn(each)) {
      for (const [name, field] of Object.entries(nodeOf(part.properties)))
        isFilled.set(name, isFilled.get(name) !== false && hasDefault(reader, field))
      if (typeof part.$ref === 'string') reached.add(reader.node(part))
    }
  }
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

function errorAnswers({ responses }: Operation): Response[] {
  return [...responses.values()].filter(({ status }) => /^([45]|default$)/.test(status))
}

function tableEntry(
  operation: Operation,
  operations: Contract['operations'],
  places: Int64Places,
): ClientOperation {
  const { method, path, parameters: declared, deprecation } = operation
  const formed = declared.flatMap(({ name, in: location, form }) => {
    return form === undefined ? [] : { name, in: location, style: form.style, explode: form.explode }
  })
  const errors = errorAnswers(operation)
  const answers = [...new Set([...goodAnswers(operation), ...errors])]
  const int64 = int64Of(operation, answers, places)
  const contents = contentsOf(answers)
  const successor = operations.get(deprecation?.successor ?? '')
  return {
    method,
    path,
    ...(operation.isIdempotent && { idempotent: true }),
    ...(formed.length > 0 && { parameters: formed }),
    ...bodyOf(sentContent(operation)),
    ...(errors.length > 0 && { errors: errorStatuses(errors) }),
    ...(Object.keys(contents).length > 0 && { contents }),
    ...(Object.keys(int64).length > 0 && { int64 }),
    ...(successor !== undefined && { successor: clientName(successor) }),
  }
}

// `default` covers all others.
function errorStatuses(errors: readonly Response[]): string[] {
  const statuses = errors.map(({ status }) => status)
  return statuses.includes('default') ? ['default'] : statuses
}

function int64Of(
  operation: Operation,
  answers: readonly Response[],
  places: Int64Places,
): Readonly<Record<string, Place>> {
  const { reader } = places
  const item = reader.node(reader.node(reader.document.paths)[operation.path])
  const responses = reader.node(reader.node(item[operation.method.toLowerCase()]).responses)
  const found = answers.map(({ status, key }) => {
    const contents = Object.entries(reader.node(reader.node(responses[key]).content))
    const [, media] = contents.find(([mediaType]) => isJson(mediaType)) ?? []
    return [status, places.of(reader.node(media).schema)] as const
  })
  const special = ofSpecial(found, (place) => place !== undefined)
  return Object.fromEntries(special.map(([status, place]) => [status, place ?? {}]))
}

// The kinds of the media types of each response, where they are not only JSON, or there are none.
function contentsOf(answers: readonly Response[]): NonNullable<ClientOperation['contents']> {
  const found = answers.map(({ status, contents }) => [status, contents] as const)
  const special = ofSpecial(
    found,
    (contents) => contents.length === 0 || contents.some(({ kind }) => kind !== 'json'),
  )
  return Object.fromEntries(special.map(([status, contents]) => [status, kindsOf(contents)]))
}

// The statuses with something special, and if a class or `default` has it, all that would match it.
function ofSpecial<Each>(
  found: readonly (readonly [status: string, each: Each])[],
  isSpecial: (each: Each) => boolean,
): (readonly [status: string, each: Each])[] {
  const ranges = found.filter(([status, each]) => /xx|default/.test(status) && isSpecial(each))
  const isIn = (status: string) =>
    ranges.some(([range]) => range === 'default' || range.charAt(0) === status.charAt(0))
  return found.filter(([status, each]) => isSpecial(each) || isIn(status))
}

function kindsOf(contents: readonly Content[]): Record<string, 'json' | 'text' | 'bytes'> {
  const kinds = contents.map(({ mediaType, kind }): [string, 'json' | 'text' | 'bytes'] => [
    essence(mediaType),
    kind === 'json' || kind === 'text' ? kind : 'bytes',
  ])
  return Object.fromEntries(kinds)
}

const placing = ['allOf', 'anyOf', 'oneOf', 'properties', 'patternProperties', 'additionalProperties'].concat(
  'items',
  'prefixItems',
)

type Ref = `#/${string}`

// The references in a schema and in their targets that are not known yet, by the keywords that
// openapi-typescript reads.
function refsReached(document: object, schema: unknown, known: ReadonlyMap<string, unknown>): Set<Ref> {
  const refsIn = (value: unknown) => {
    const schemas = schemasIn(nodeOf(value), ({ keyword }) => placing.includes(keyword))
    return schemas.flatMap(({ $ref }) => (typeof $ref === 'string' && !known.has($ref) ? [$ref as Ref] : []))
  }
  const reached = new Set(refsIn(schema)) // a Set iterates over what is added meanwhile, too
  for (const ref of reached) for (const each of refsIn(resolvePointer(document, ref))) reached.add(each)
  return reached
}

class Int64Places {
  /** By `$ref`; undefined for a schema without int64. */
  readonly schemas = new Map<string, Place | undefined>()

  constructor(readonly reader: Reader) {}

  /**
   * Undefined for a schema without int64, to keep the table small. Only by the keywords that
   * openapi-typescript reads: a value that the types do not have as bigint must not become one.
   */
  of(value: unknown): Place | undefined {
    // Innermost first: nested, a chain of references would overflow the stack.
    for (const ref of [...refsReached(this.reader.document, value, this.schemas)].reverse())
      this.#reference(ref)
    return this.#place(value)
  }

  #place(value: unknown): Place | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const schema = value as Node
    if (typeof schema.$ref === 'string') return this.#reference(schema.$ref as `#/${string}`)
    if ([schema.type].flat().includes('integer') && isBig(schema.format)) return 'int64'
    const each = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
      list(schema[keyword]).flatMap((one) => this.#place(one) ?? []),
    )
    const additional = this.#additional(schema)
    const items = this.#place(schema.items)
    // A property without int64 needs an entry only as an exception from additionalProperties.
    const properties = Object.entries(nodeOf(schema.properties))
      .map(([name, one]) => [name, this.#place(one) ?? null] as const)
      .filter(([, place]) => place !== null || additional !== undefined)
    const prefix = list(schema.prefixItems).map((one) => this.#place(one) ?? null)
    const places: Places = {
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(additional !== undefined && { additional }),
      ...((items !== undefined || prefix.some((one) => one !== null)) && prefix.length > 0 && { prefix }),
      ...(items !== undefined && { items }),
      ...(each.length > 0 && { each }),
    }
    return Object.keys(places).length > 0 ? places : undefined
  }

  // As in the types, patterns are not distinguished: a property that matches any pattern may have any of
  // their schemas.
  #additional(schema: Node): Place | undefined {
    const others = [schema.additionalProperties, ...Object.values(nodeOf(schema.patternProperties))]
    const each = others.flatMap((one) => this.#place(one) ?? [])
    return each.length > 1 ? { each } : each[0]
  }

  // A schema may refer to itself: it is added before its subschemas are read.
  #reference(ref: Ref): Place | undefined {
    if (!this.schemas.has(ref)) {
      this.schemas.set(ref, {})
      const place = this.#place(resolvePointer(this.reader.document, ref))
      this.schemas.set(ref, place !== undefined && leadsToInt64(place, ref) ? place : undefined)
    }
    return this.schemas.get(ref) && ref
  }
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
