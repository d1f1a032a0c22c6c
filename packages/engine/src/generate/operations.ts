// Generates operations.ts: the request and response types of each handler. It differs from
// openapi-typescript's operations in two points: a parameter with a default is required, and the response is
// a union of the declared statuses, each with its headers and body.

import type { Content, Contract, Operation, Response, SecurityScheme } from '../document/contract.js'
import { essence, isRange } from '../document/media-types.js'
import { errorsAmong, successContents } from '../document/responses.js'
import { credentialPlace, isPublic } from '../document/security.js'
import { onlyFile } from '../document/uploads.js'
import type { BytesTypes } from '../kinds/declared-kind.js'
import { declaredKindOf } from '../kinds/declared-kinds.js'
import { isStream, kindOf, silentContents } from '../kinds/index.js'
import { quote } from '../lib/texts.js'
import { serverErrors } from '../serve/response/additions.js'
import { listHelper } from './list-helper.js'
import { importOf, type Notation, namedType, notationOf, primitiveType } from './notation.js'
import { sentRequestTypes } from './sent-requests.js'
import { statusTypes } from './statuses.js'
import { generateTypes } from './types.js'

/**
 * Returns the text of operations.ts.
 * @param types the text of types.ts
 * @param ownCodes the codes of the server's own errors, for a contract without `ErrorCode`
 */
export function generateOperations(
  contract: Contract,
  types = generateTypes(contract),
  ownCodes: Iterable<string> = serverErrors(contract, []).keys(),
): string {
  const notation = notationOf(contract, types)
  const ordered = inOrder(contract)
  const members = ordered.map((operation) => operationType(operation, notation)).join('\n')
  const schemes = [...contract.securitySchemes].map(schemeType).join('\n')
  const sent = sentRequestTypes(contract, notation)
  const text = `/** Parameters with a default are always present. */
export type WithDefaults<Parameters, Names extends keyof Parameters> = Omit<Parameters, Names> & Required<Pick<Parameters, Names>>

/** Node gives the names of headers in lower case. */
export type LowerCase<Headers> = { [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] }

${helpers
  .filter(([name]) => new RegExp(`\\b${name}[<>]`).test(members + sent))
  .map(([, helper]) => helper)
  .join('')}/**
 * The request and the declared responses of each operation, its security schemes, and whether it also serves
 * requests without credentials.
 */
export interface Operations {
${members}
}

export type OperationId = keyof Operations

/** The security schemes, and the credential of each that a request carries and a check gets. */
export type SecuritySchemes = {${schemes && `\n${schemes}\n`}}

${errorTypes(contract, ownCodes, notation)}${sent}`
  const shared = ['components', 'operations', 'Readable', 'webhooks', 'Writable']
  const streams = text.includes('ByteStream') ? `${streamImport}\n` : ''
  const imports = importOf(shared, text, './types.js', [...notation.used].sort())
  return `${streams}${imports && `${imports}\n`}${text}`
}

/**
 * Returns the text of errors.ts: the types of errors alone, for a client, whose types must not depend on
 * those of Node.
 */
export function generateErrors(contract: Contract, types: string, ownCodes: Iterable<string>): string {
  const notation = notationOf(contract, types)
  const text = errorTypes(contract, ownCodes, notation)
  const shared = ['components', 'operations', 'Readable']
  const imports = importOf(shared, text, './types.js', [...notation.used].sort())
  return `${imports && `${imports}\n`}${text}`
}

function inOrder({ operations }: Contract): Operation[] {
  return [...operations.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

// Imported under another name, because types.js may have a type `Readable`.
const streamImport = `import type { Readable as ByteStream } from 'node:stream'`

// Helper types, each included only if an operation uses it.
const helpers = [
  [
    'Filled',
    `/** A request body with its defaults: the fields with these names are present. */
export type Filled<Body, Names extends PropertyKey> = Body extends readonly unknown[]
  ? $FilledItems<Body, Names>
  : Body extends object
    ? { [Name in keyof Body as Name extends Names ? never : Name]: Filled<Body[Name], Names> } & {
        [Name in keyof Body as Name extends Names ? Name : never]-?: Filled<Body[Name], Names>
      }
    : Body
${listHelper('Filled', [['Names', 'PropertyKey']])}
`,
  ],
  [
    'StatusOf',
    `type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
type NumberOf<Text> = Text extends \`\${infer Value extends number}\` ? Value : never

/** The statuses of a class: \`StatusOf<2>\` are those from 200 to 299. */
export type StatusOf<Class extends number> = NumberOf<\`\${Class}\${Digit}\${Digit}\`>

`,
  ],
  [
    'WithFiles',
    `type FileOf<Value, File> = unknown extends Value
  ? File
  : Value extends string
    ? File
    : Value extends readonly (infer Item)[]
      ? FileOf<Item, File>[]
      : Value

/** A file of a form, and the media type of its part, if that has one: in lower case, without parameters. */
export type FormFile<File> = File & { readonly type: string | undefined }

/** Files are bytes. */
export type WithFiles<Form, Names extends PropertyKey, File = Uint8Array> = {
  [Name in keyof Form]: Name extends Names ? FileOf<Form[Name], FormFile<File>> : Form[Name]
}

`,
  ],
  [
    'WithArrivingFiles',
    `/** A file of a form, the name of its field, and the media type of its part, if that has one. */
export interface ArrivingFile<Name extends string> {
  readonly name: Name
  readonly type: string | undefined
  readonly file: ByteStream
}

/**
 * The fields of a form, and its files in the order in which they arrive: \`for await (const { name, type,
 * file } of body)\`.
 */
export type WithArrivingFiles<Form, Names extends string> = {
  [Name in keyof Form as Name extends Names ? never : Name]: Form[Name]
} & AsyncIterable<ArrivingFile<Names>>

`,
  ],
  [
    'ArrivingItems',
    `/** The error of an item of a body: its line (from 1), the place in the item (RFC 6901), and the problem. */
export interface ItemError {
  readonly line: number
  readonly pointer: string
  readonly detail: string
}

/** The valid items of a body, and the errors of the others so far. */
export interface CountedItems<Item> extends AsyncIterable<Item> {
  readonly valid: number
  readonly invalid: number
  /** The first errors. */
  readonly errors: readonly ItemError[]
  /** The error to throw for a request with invalid items. It describes the first one. */
  readonly error: Error | undefined
}

/**
 * The items of a body while they arrive. Read them once. At the first invalid item, the request fails.
 */
export interface ArrivingItems<Item> extends AsyncIterable<Item> {
  /**
   * Goes on after invalid items, and keeps their first errors (by default 20).
   */
  counted(options?: { readonly errorsMax?: number }): CountedItems<Item>
}

`,
  ],
  [
    'EventPosition',
    `/** A position from which the client of a stream of events can go on. It is no event: send it first, or in a silence. */
export interface EventPosition {
  readonly id: string
  readonly retry?: number
  readonly event?: undefined
  readonly data?: undefined
}

`,
  ],
  [
    'Items',
    `/** A stream of items. */
export type Items<Item> = AsyncIterable<Item> | Iterable<Item>

type ItemIn<Operation> = Operation extends { item: infer Item } ? Item : never

/** An item of the streams of an operation: \`async function* feed(): AsyncGenerator<ItemOf<'watch'>>\`. */
export type ItemOf<Id extends OperationId> = ItemIn<Operations[Id]>

`,
  ],
] as const

function errorTypes(contract: Contract, ownCodes: Iterable<string>, notation: Notation): string {
  const bodies = inOrder(contract).flatMap((each) =>
    errorsAmong(each.responses).flatMap((response) =>
      response.contents.map((content) => responseType(each, response, content, notation)),
    ),
  )
  const body = [...new Set(bodies)].join(' | ') || '{ code: ErrorCode; message: string; status: number }'
  const code = contract.describesErrors
    ? `components['schemas']['ErrorCode']`
    : [...ownCodes].map(quote).join(' | ') || 'string' // if the server is not known
  return `/** The machine-readable codes of errors. */
export type ErrorCode = ${code}

/** The bodies of errors. */
export type ErrorBody = ${body}
`
}

function operationType(operation: Operation, notation: Notation): string {
  const { name } = operation
  const answers = statusTypes(returnable(operation)).flatMap(([response, status]) =>
    answerTypes(operation, response, status, notation),
  )
  const names = [...new Set(operation.security.flat().map((each) => quote(each.name)))]
  return `  ${name}: {
    security: ${names.join(' | ') || 'never'}
    isPublic: ${isPublic(operation)}
    request: {
      params: ${parametersType(operation, 'path', notation)}
      query: ${parametersType(operation, 'query', notation)}
      headers: ${parametersType(operation, 'header', notation)}
      cookies: ${parametersType(operation, 'cookie', notation)}
      body: ${bodyType(operation, notation)}${acceptType(operation)}
    }
    response:
${answers.map((answer) => `      | ${answer}`).join('\n') || '      never'}${itemType(operation, notation)}
  }`
}

// A type of its own, because in the type of the response a stream of items looks like bytes, which may be
// iterated over, too.
function itemType(operation: Operation, notation: Notation): string {
  const streams = returnable(operation).flatMap((response) =>
    response.contents.filter(isStream).map((content) => sentType(operation, response, content, notation)),
  )
  return streams.length === 0 ? '' : `\n    item: ${[...new Set(streams)].join(' | ')}`
}

// `never` if no request can carry the credential: such a scheme has no check.
function schemeType([name, scheme]: [string, SecurityScheme]): string {
  const place = credentialPlace(scheme)
  const isBasic = place?.in === 'authorization' && place.name === 'basic'
  const type = isBasic ? '{ readonly username: string; readonly password: string }' : 'string'
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name) // as the compiler's messages name it
  return `  ${key}: ${place === undefined ? 'never' : type}`
}

function parametersType(
  { id, parameters }: Operation,
  location: 'path' | 'query' | 'header' | 'cookie',
  notation: Notation,
): string {
  const here = parameters.filter((parameter) => parameter.in === location)
  if (here.length === 0) return 'Record<never, never>'
  const all = `NonNullable<operations[${quote(id)}]['parameters']['${location}']>`
  const defaults = here.filter(({ hasDefault }) => hasDefault).map(({ name }) => quote(name))
  const given = notation.hasReadOrWriteOnly ? `Writable<${all}>` : all
  const full = defaults.length > 0 ? `WithDefaults<${given}, ${defaults.join(' | ')}>` : given
  return location === 'header' ? `LowerCase<${full}>` : full
}

// The media type that the client prefers, if there are several.
function acceptType(operation: Operation): string {
  const contents = successContents(operation)
  return contents.length < 2 ? '' : `\n      accept: ${contents.map(typeName).join(' | ')}`
}

// JSON, text and forms are values, a stream is read item by item, anything else is bytes.
function bodyType({ id, body }: Operation, notation: Notation): string {
  if (body === undefined) return 'undefined'
  const types = body.contents.map((content) => {
    const { upload } = content
    const value = filledType(id, content, notation)
    const as = (bytes: BytesTypes) => declaredKindOf(content).type(content, value, bytes)
    if (upload === undefined) return as(wholeFiles)
    const names = [...upload.files.keys()]
    if (names.length === 0 || onlyFile(upload) !== undefined)
      return as({ body: 'ByteStream', file: 'ByteStream' })
    return `WithArrivingFiles<${value}, ${names.map(quote).join(' | ')}>`
  })
  return [...new Set([...types, ...(body.required ? [] : ['undefined'])])].join(' | ') || 'never'
}

const wholeFiles: BytesTypes = { body: 'Uint8Array', file: 'Uint8Array' }

function filledType(id: string, content: Content, notation: Notation): string {
  const type = valueType(id, content, notation)
  const names = notation.filledIn(content)
  return names.length === 0 ? type : `Filled<${type}, ${names.map(quote).join(' | ')}>`
}

/** Returns the type of a request body of one media type, as a client sends it. */
export function requestType(id: string, content: Content, notation: Notation, bytes: BytesTypes): string {
  return declaredKindOf(content).type(content, valueType(id, content, notation), bytes)
}

function valueType(id: string, content: Content, notation: Notation): string {
  const body = `NonNullable<operations[${quote(id)}]['requestBody']>`
  const type = namedType(content, notation) ?? `${body}['content'][${quote(content.mediaType)}]`
  return notation.hasReadOrWriteOnly ? `Writable<${type}>` : type
}

// Leaves out `default` if it is an error: a handler throws such errors, and the server sets the status.
function returnable({ responses }: Operation): Response[] {
  const errors = errorsAmong(responses)
  return [...responses.values()].filter((each) => each.status !== 'default' || !errors.includes(each))
}

// Makes one type for each media type. The media types that are used without a `Content-Type` share one, which
// does not require the header. All media types of bytes share another, so that a handler can choose among
// them.
function answerTypes(operation: Operation, response: Response, status: string, notation: Notation): string[] {
  const { headers, contents } = response
  const declared = declaredType(operation, response)
  const own = headers.filter(({ setByServer }) => !setByServer)
  const names = own.map((each) => {
    const name = quote(each.name)
    return `${name}${each.required ? '' : '?'}: ${primitiveType(each) ?? `${declared}['headers'][${name}]`}`
  })
  const isRequired = own.some(({ required }) => required)
  if (contents.length === 0)
    return [`{ status: ${status}${headersType(names, isRequired)}; body?: undefined }`]
  const silent = silentContents(response, operation.responses)
  const files = contents.filter((each) => kindOf(each).streams === 'bytes' && !silent.includes(each))
  return contents.flatMap((content) => {
    const alike = [silent, files].find((group) => group.includes(content)) ?? [content]
    if (content !== alike[0]) return []
    const body = responseType(operation, response, content, notation, bytesOf(operation))
    const isSilent = alike === silent
    const named =
      contents.length > 1 || !isSilent
        ? [`'Content-Type'${isSilent ? '?' : ''}: ${alike.map(typeName).join(' | ')}`]
        : []
    return `{ status: ${status}${headersType([...named, ...names], isRequired || !isSilent)}; body: ${body} }`
  })
}

function declaredType({ id }: Operation, { key }: Response): string {
  return `operations[${quote(id)}]['responses'][${/^\d+$/.test(key) ? key : quote(key)}]`
}

// A response that is stored may not be a stream.
function bytesOf({ isIdempotent }: Operation): string {
  return isIdempotent ? buffered : `${buffered} | ByteStream`
}

const buffered = 'string | Uint8Array'

function responseType(
  operation: Operation,
  response: Response,
  content: Content,
  notation: Notation,
  body = buffered,
): string {
  const bytes = { body, file: 'Uint8Array' } // no response is a form
  return declaredKindOf(content).type(content, sentType(operation, response, content, notation), bytes)
}

// Returns the type of the body or, for a stream, of an item.
function sentType(operation: Operation, response: Response, content: Content, notation: Notation): string {
  const declared = `${declaredType(operation, response)}['content'][${quote(content.mediaType)}]`
  const type = namedType(content, notation) ?? declared
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}

// Undeclared headers are `undefined`, not omitted: TypeScript rejects excess properties only in literals.
function headersType(names: readonly string[], isRequired: boolean): string {
  if (names.length === 0) return '; headers?: undefined'
  return `; headers${isRequired ? '' : '?'}: { ${names.join('; ')} }`
}

function typeName({ mediaType }: Content): string {
  if (!isRange(mediaType)) return quote(mediaType)
  return `\`${essence(mediaType).replaceAll('*', `\${string}`)}\``
}
