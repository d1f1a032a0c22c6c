// Generates client.ts: the type of the client, with a function, a request and the error responses for each
// operation, and the table that the client needs at run time. The table says how to call each operation, and
// where its values have numbers.

import { readFileSync } from 'node:fs'
import type { Contract, Operation } from 'contract-engine'
import {
  filledNames,
  generateTypes,
  importOf,
  type Notation,
  notationOf,
  requestType,
} from 'contract-engine/generate'
import { capitalized } from 'contract-engine/lib/texts'
import {
  type AnySchema,
  type Content,
  credentialPlace,
  dividedPath,
  documentPaths,
  essence,
  extendedBy,
  type Field,
  isStream as isItemStream,
  isJson,
  isPublic,
  isRange,
  keepAliveOf,
  nodeOf,
  type Parameter,
  type ParameterForm,
  pointerTo,
  Reader,
  type Response,
  receivedAs,
  rivalsOf,
  withoutDynamicRefs,
} from 'contract-engine/tools'
import type {
  ClientBody,
  ClientField,
  ClientForm,
  ClientOperation,
  ClientParameter,
  ClientScheme,
  ClientStream,
  ClientTable,
  ContentKind,
} from '../src/index.js'
import { callTypes, contentTypes, goodAnswers, isStream } from './client-calls.js'
import { NumberPlaces } from './number-places.js'

/** What the code of a client contains about its package. */
export interface ClientPackage {
  /**
   * The product that its requests name in `User-Agent` (RFC 9110, section 10.1.5):
   * `animal-store-client/1.0.0`. The default is this package.
   */
  readonly agent?: string
}

/**
 * Returns the text of client.ts, a module beside types.ts.
 * @param types the text of types.ts
 */
export function generateClient(
  contract: Contract,
  types = generateTypes(contract),
  own: ClientPackage = {},
): string {
  const operations = sorted(contract.operations)
  const names = requestNames(operations)
  const notation = notationOf(contract, types, [...names.values()])
  const requests = operations
    .map((each) => requestInterface(each, names.get(each) ?? '', notation))
    .join('\n')
  const calls = operations.map((each) => callType(each, names.get(each) ?? '', notation)).join('\n')
  const errors = operations.map((each) => errorsType(each, notation)).join('\n')
  const text = `${credentialsInterface(contract)}
${requests}
/** A function for each operation of the contract. */
export interface Calls {
${calls}
}

/** The error responses that the contract declares for each operation. */
export interface Errors {
${errors}
}
`
  const ofRuntime = ['ClientTable', ...plainTypesIn(text, 'FileBody', 'FileOptions', 'UsernamePassword')]
  const imports = [
    importOf(typesOfCalls, text, 'contract-client', ofRuntime),
    importOf(['operations', 'Readable', 'Writable'], text, './types.js', [...notation.used].sort()),
  ]
  return `${imports.join('')}
${text}
/** The parts of the contract that the client needs at run time. */
export const table: ClientTable = ${JSON.stringify(clientTable(contract, own), null, 2)} as const
`
}

const typesOfCalls = ['Accepting', 'Call', 'RequestOf', 'StatusOf', 'StreamCall', 'WithFiles']

// Finds types without parameters, which importOf cannot tell from words of a description.
function plainTypesIn(text: string, ...names: string[]): string[] {
  return names.filter((name) => new RegExp(`[:&] ${name}\\b`).test(text))
}

/** Returns the table: the operations of the contract, and where their values have numbers. */
export function clientTable(contract: Contract, { agent = ownAgent() }: ClientPackage = {}): ClientTable {
  const { document, operations, prefix } = contract
  const places = new NumberPlaces(withoutDynamicRefs(document))
  const entries = sorted(operations).map((each) => [clientName(each), tableEntry(each, contract, places)])
  for (const name of Object.keys(nodeOf(nodeOf(nodeOf(document).components).schemas)))
    places.of({ $ref: pointerTo(['components', 'schemas', name]) }) // for `parse`
  return {
    agent,
    prefix,
    operations: Object.fromEntries(entries),
    securitySchemes: schemesOf(contract),
    schemas: Object.fromEntries(places.schemas),
  }
}

function ownAgent(): string {
  const { name, version } = JSON.parse(readFileSync(new URL(manifest, import.meta.url), 'utf8'))
  return `${name}/${version}`
}

const manifest = '../../package.json' // the manifest of this package, from dist/generator

function sorted(operations: Contract['operations']): Operation[] {
  return [...operations.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

// Returns, by name, the schemes that operations use and whose credential a request can carry.
function schemesOf({ operations, securitySchemes }: Contract): ClientTable['securitySchemes'] {
  const used = [...operations.values()].flatMap(({ security }) => security.flat())
  const names = [...new Set(used.map(({ name }) => name))].sort()
  return Object.fromEntries(
    names.flatMap((name) => {
      const place = credentialPlace(securitySchemes.get(name))
      return place === undefined ? [] : [[name, place]]
    }),
  )
}

// A scheme that the connection meets, such as mutualTLS, is left out: nothing is sent for it.
function securityOf(
  { security }: Operation,
  { securitySchemes }: Contract,
): Pick<ClientOperation, 'security'> {
  const isSent = (name: string) => credentialPlace(securitySchemes.get(name)) !== undefined
  const sent = security.map((all) => all.map(({ name }) => name).filter(isSent))
  return sent.flat().length === 0 ? {} : { security: sent }
}

// The members are optional if some operation needs no credential.
function credentialsInterface(contract: Contract): string {
  const isOptional = [...contract.operations.values()].some(isPublic)
  const members = Object.entries(schemesOf(contract)).map(([name, scheme]) => {
    const type = isBasic(scheme) ? 'UsernamePassword' : 'string'
    return `  readonly ${keyOf(name)}${isOptional ? '?' : ''}: ${type}\n`
  })
  return `/** The credential of each security scheme of the contract. */
export interface Credentials {
${members.join('')}}
`
}

function isBasic({ in: location, name }: ClientScheme): boolean {
  return location === 'authorization' && name === 'basic'
}

/** Returns the option with the credentials of a contract, as an example; empty if the contract has none. */
export function credentialsExample(contract: Contract): string {
  const schemes = Object.entries(schemesOf(contract))
  const own = ([name, scheme]: [string, ClientScheme]) =>
    `${keyOf(name)}: ${isBasic(scheme) ? "{ username: '…', password: '…' }" : "'…'"}`
  const [only] = schemes
  if (only === undefined) return ''
  return schemes.length === 1 && !isBasic(only[1])
    ? "key: '…'"
    : `security: { ${schemes.map(own).join(', ')} }`
}

// These names cannot be functions of the client: its own names, those that every object inherits, and `then`,
// which would make the client a thenable.
const taken = ['pages', 'items', 'then', ...Object.getOwnPropertyNames(Object.prototype)]

/**
 * Returns the name of an operation's function: its operationId, or its name in generated code if the
 * operationId is no identifier.
 */
export function clientName({ id, name }: Operation): string {
  const own = /^[\p{L}_$][\p{L}\d_$]*$/u.test(id) ? id : name
  return taken.includes(own) ? `${own}Operation` : own
}

// Returns the name of each operation's request: `ListPetsRequest`. Names that differ only in the case of
// their first letter stay as they are.
function requestNames(operations: readonly Operation[]): ReadonlyMap<Operation, string> {
  const names = operations.map(clientName)
  const isShared = (name: string) =>
    names.filter((other) => capitalized(other) === capitalized(name)).length > 1
  return new Map(
    operations.map((each, i) => {
      const name = names[i] ?? ''
      return [each, `${isShared(name) ? name : capitalized(name)}Request`]
    }),
  )
}

// An interface, so that editors show its name.
function requestInterface(operation: Operation, name: string, notation: Notation): string {
  const body = sentType(operation, notation)
  return `/** The request of \`${clientName(operation)}\`. */
export interface ${name} extends RequestOf<operations[${JSON.stringify(operation.id)}], ${body}, Credentials> {}
`
}

function callType(operation: Operation, request: string, notation: Notation): string {
  const types = callTypes(operation, request, notation)
  const comment = documentation(operation).map((line) => `   * ${line}`.trimEnd())
  return `  /**
${comment.join('\n')}
   */
  readonly ${memberName(operation)}: ${types.join('\n    & ')}`
}

// Statuses with the same body share a line.
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

// Returns a status, or the statuses of a class or of `default` without those that are declared by themselves.
function errorStatus({ status }: Response, errors: readonly Response[]): string {
  const typeOf = (each: string) => (each.endsWith('xx') ? `StatusOf<${each.charAt(0)}>` : each)
  if (/^\d{3}$/.test(status)) return status
  const others = errors.filter((each) => each.status !== status && each.status !== 'default')
  const all = status === 'default' ? 'StatusOf<4 | 5>' : typeOf(status)
  const taken = others.map((each) => typeOf(each.status))
  return taken.length > 0 ? `Exclude<${all}, ${taken.join(' | ')}>` : all
}

// Returns the types of a response's body, one for each media type.
function bodyTypes(operation: Operation, answer: Response, notation: Notation): string[] {
  const types = contentTypes(operation, answer, notation)
  return types.length > 0 ? [...new Set(types)] : ['undefined']
}

function memberName(operation: Operation): string {
  return keyOf(clientName(operation))
}

function keyOf(name: string): string {
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? name : JSON.stringify(name)
}

// Returns the type of a request's body.
function sentType(operation: Operation, notation: Notation): string {
  const { id, body } = operation
  if (body === undefined) return '{ readonly body?: never }'
  const sent = sentContent(operation)
  const bytes = { body: 'FileBody', file: 'Uint8Array | Blob' }
  const isOfItems = sent !== undefined && isItemStream(sent)
  const value = isOfItems ? { ...sent, kind: 'json' as const } : sent // each item is JSON
  const type = value === undefined ? 'unknown' : requestType(id, value, notation, bytes)
  const whole = isOfItems ? `readonly (${type})[] | AsyncIterable<${type}>` : type
  return `{ readonly body${body.required ? '' : '?'}: ${whole} }`
}

// Returns the content that the client sends: JSON if possible.
function sentContent({ body }: Operation): Content | undefined {
  const { contents = [] } = body ?? {}
  return (
    contents.find(({ mediaType }) => isPlainJson(mediaType)) ??
    contents.find(({ mediaType }) => isJson(mediaType)) ??
    contents[0]
  )
}

function isPlainJson(mediaType: string): boolean {
  return essence(mediaType) === 'application/json'
}

// Adds `@deprecated`, because editors strike through such a name.
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

function errorAnswers({ responses }: Operation): Response[] {
  return [...responses.values()].filter(({ status }) => /^([45]|default$)/.test(status))
}

function tableEntry(operation: Operation, contract: Contract, places: NumberPlaces): ClientOperation {
  const { method, prefix, path, parameters: declared, deprecation } = operation
  const formed = declared.flatMap((each) => parameterOf(each, contract, places) ?? [])
  const divided = dividedPath(operation)
  const rivals = rivalsOf(operation, contract, Object.values(documentPaths))
  const errors = errorAnswers(operation)
  const answers = [...new Set([...goodAnswers(operation), ...errors])]
  const numbers = numbersOf(answers, places)
  const contents = contentsOf(answers)
  const streams = streamsOf(operation, places)
  const successor = contract.operations.get(deprecation?.successor ?? '')
  return {
    method,
    ...(prefix !== contract.prefix && { prefix }),
    path,
    ...(divided !== undefined && { divided }),
    ...(rivals.length > 0 && { rivals }),
    ...(operation.isIdempotent && { idempotent: true }),
    ...(costOf(operation) > 1 && { cost: costOf(operation) }),
    ...securityOf(operation, contract),
    ...(formed.length > 0 && { parameters: formed }),
    ...bodyOf(sentContent(operation), places, contract.document),
    ...(errors.length > 0 && { errors: errorContents(errors, contract.document) }),
    ...(Object.keys(contents).length > 0 && { contents }),
    ...(Object.keys(numbers).length > 0 && { numbers }),
    ...(Object.keys(streams).length > 0 && { streams }),
    ...(isStream(operation) && { isStream: true }),
    ...(successor !== undefined && { successor: clientName(successor) }),
  }
}

function parameterOf(
  { name, in: location, form, schema, hasDefault: isFilled }: Parameter,
  contract: Contract,
  places: NumberPlaces,
): ClientParameter | undefined {
  const numbers = places.of(schema)
  if (form === undefined && numbers === undefined && !isFilled) return undefined
  return {
    name,
    in: location,
    ...(form && {
      form: {
        style: form.style,
        explode: form.explode,
        ...(form.read === 'oneOrRepeated' && { isOneOrList: true as const }),
        ...(form.read === 'fields' && namesAround(location, form, contract)),
        ...bodyOf(form.content, places, contract.document),
      },
    }),
    ...(numbers && { numbers }),
    ...(isFilled && { isFilled }),
  }
}

// Returns the names that a field may have, or may not have, if it is a parameter of its own: others are those
// of other parameters or of keys.
function namesAround(
  location: string,
  { names, taken }: ParameterForm,
  contract: Contract,
): Partial<ClientForm> {
  if (location === 'cookie') return { names }
  if (location === 'path') return {}
  const keys = [...contract.securitySchemes.values()].map(credentialPlace)
  return { taken: [...taken, ...keys.flatMap((key) => (key?.in === 'query' ? key.name : []))] }
}

// Leaves out the statuses that are declared like `default`.
function errorContents(
  errors: readonly Response[],
  document: object,
): NonNullable<ClientOperation['errors']> {
  const reader = new Reader(document)
  const entries = errors.map(({ status, contents }) => {
    const names = contents.map(({ mediaType, schema }) => {
      return [essence(mediaType), isJson(mediaType) ? requiredIn(reader, schema) : []]
    })
    return [status, Object.fromEntries(names)] as const
  })
  const other = JSON.stringify(entries.find(([status]) => status === 'default')?.[1])
  return Object.fromEntries(
    entries.filter(([status, each]) => status === 'default' || JSON.stringify(each) !== other),
  )
}

// Returns the fields that every value has, following the references of its schema.
function requiredIn(reader: Reader, schema: AnySchema | undefined): string[] {
  if (typeof schema !== 'object') return []
  const parts = [...extendedBy(schema, (each) => reader.node(each))]
  return [...new Set(parts.flatMap(({ required }) => (Array.isArray(required) ? required.map(String) : [])))]
}

// Returns null for a media type without numbers, if another media type of the status has some.
function numbersOf(
  answers: readonly Response[],
  places: NumberPlaces,
): NonNullable<ClientOperation['numbers']> {
  const found = answers.map(({ status, contents }) => {
    const json = contents.filter(({ mediaType }) => isJson(mediaType))
    return [
      status,
      json.map((each) => [essence(each.mediaType), places.of(each.schema) ?? null] as const),
    ] as const
  })
  const special = ofSpecial(found, (each) => each.some(([, place]) => place !== null))
  return Object.fromEntries(special.map(([status, each]) => [status, Object.fromEntries(each)]))
}

// Returns the kinds of each response's media types, for responses that are not only JSON or have no body.
function contentsOf(answers: readonly Response[]): NonNullable<ClientOperation['contents']> {
  const found = answers.map(({ status, contents }) => [status, contents] as const)
  const special = ofSpecial(
    found,
    (contents) => contents.length === 0 || contents.some(({ mediaType }) => !isJson(mediaType)),
  )
  return Object.fromEntries(special.map(([status, contents]) => [status, kindsOf(contents)]))
}

// Returns the statuses with something special. If a class or `default` has it, all statuses that match it are
// returned, too.
function ofSpecial<Each>(
  found: readonly (readonly [status: string, each: Each])[],
  isSpecial: (each: Each) => boolean,
): (readonly [status: string, each: Each])[] {
  const ranges = found.filter(([status, each]) => /xx|default/.test(status) && isSpecial(each))
  const isIn = (status: string) =>
    ranges.some(([range]) => range === 'default' || range.charAt(0) === status.charAt(0))
  return found.filter(([status, each]) => isSpecial(each) || isIn(status))
}

function kindsOf(contents: readonly Content[]): Record<string, ContentKind> {
  return Object.fromEntries(contents.map((each) => [essence(each.mediaType), receivedAs(each)]))
}

function streamsOf(operation: Operation, places: NumberPlaces): NonNullable<ClientOperation['streams']> {
  const found = goodAnswers(operation).flatMap(({ status, contents }) => {
    const streams = contents.flatMap((each) => {
      const stream = streamOf(each, operation, places)
      return stream === undefined ? [] : [[essence(each.mediaType), stream] as const]
    })
    return streams.length === 0 ? [] : [[status, Object.fromEntries(streams)] as const]
  })
  return Object.fromEntries(found)
}

function streamOf(content: Content, { limits }: Operation, places: NumberPlaces): ClientStream | undefined {
  const { framing, mediaType, schema, data = [] } = content
  if (framing === undefined || framing === 'rows') return undefined
  const items = framing === 'sse' ? dataSchemas(schema) : [schema ?? {}]
  const numbers = places.of(items.length === 1 ? items[0] : { anyOf: items })
  const texts = data.filter(({ isJson }) => !isJson)
  const { afterMs: keepAliveMs } = keepAliveOf(mediaType, limits)
  return {
    framing,
    ...(keepAliveMs < Number.POSITIVE_INFINITY && { keepAliveMs }),
    ...(numbers !== undefined && { numbers }),
    ...(texts.length > 0 && {
      texts: texts.map(({ events, texts }) => ({ ...(events && { events }), ...(texts && { texts }) })),
    }),
  }
}

// Returns the schemas of the data, one for each kind of event.
function dataSchemas(schema: AnySchema | undefined): unknown[] {
  const { oneOf, anyOf } = nodeOf(schema)
  const kinds = [oneOf, anyOf].find(Array.isArray) ?? [schema]
  return kinds.map((each) => nodeOf(nodeOf(each).properties).data ?? {})
}

function bodyOf(
  content: Content | undefined,
  places: NumberPlaces,
  document: object,
): { readonly body?: ClientBody } {
  const numbers = places.of(content?.schema)
  if (content === undefined || (isPlainJson(content.mediaType) && numbers === undefined)) return {}
  const { mediaType, kind, framing, fields = new Map<string, Field>() } = content
  const filled = new Set(fields.size > 0 ? filledNames(new Reader(document), content.schema) : [])
  const special = [...fields].flatMap(([name, field]) => {
    const written = fieldOf(field, filled.has(name))
    // An escaped name is clear only if the plain name is declared.
    return Object.keys(written).length > 0 || /[\r\n"]/.test(name) ? [[name, written] as const] : []
  })
  return {
    body: {
      kind: kind as ClientBody['kind'], // a request body is no CSV
      ...(framing === 'sequence' && { framing }),
      ...(!isRange(mediaType) && { mediaType: essence(mediaType) }),
      ...(special.length > 0 && { fields: Object.fromEntries(special) }),
      ...(numbers && { numbers }),
    },
  }
}

function fieldOf(
  { kind, isList, types = [], separator, mediaTypes: [mediaType] }: Field,
  isFilled: boolean,
): ClientField {
  return {
    ...(kind === 'json' && { isJson: true, ...(isList && { isList }) }),
    ...(kind === 'text' && types.includes('null') && !types.includes('string') && { isNullable: true }),
    ...(isFilled && { isFilled }),
    ...(separator !== undefined && { separator }),
    ...(kind === 'file' && mediaType !== undefined && !isRange(mediaType) && { mediaType }),
  }
}

// The value of `x-rate-cost`, as the service's reader has read it, if the contract was read with that reader.
function costOf({ extensions }: Operation): number {
  return (extensions['x-rate-cost'] as number | undefined) ?? 1
}
