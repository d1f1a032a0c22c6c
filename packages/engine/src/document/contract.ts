// The Contract: everything the server and the tools read from openapi.yaml, as plain data.

import type { Problem } from './contract-error.js'
import type { FunctionName, Functions } from './functions.js'
import type { RequestPart } from './part-names.js'
import type { UrlPart } from './runtime-expressions.js'

/** A JSON Schema. */
export type Schema = { readonly [keyword: string]: unknown }

/** A response header (Header Object). */
export interface Header {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
  /** `x-set-by-server`: the server sets the header; handlers cannot. */
  readonly setByServer: boolean
  /** As every name of a function: see compile/code/names.ts. */
  readonly judge?: FunctionName
}

/** A field of a form body. */
export interface Field {
  readonly kind: 'text' | 'json' | 'file'
  readonly isList: boolean
  /** The schema types the text may be converted to; undefined leaves it a string. */
  readonly types: readonly string[] | undefined
  /** The delimiter of a list that is sent as one string. */
  readonly separator: string | undefined
  /** The media types its part may have (Encoding Object, `contentType`); empty for any. */
  readonly mediaTypes: readonly string[]
}

/** A Media Type Object of a request body or a response. */
export interface Content {
  /** As in the contract: possibly with parameters, or a range such as `image/*`. */
  readonly mediaType: string
  readonly kind: 'json' | 'text' | 'csv' | 'form' | 'multipart' | 'bytes' | 'stream'
  /**
   * For JSON, CSV and forms, with `$ref`s; undefined allows any value. For a stream: that of an item, as a
   * handler returns it.
   */
  readonly schema?: Schema | boolean | undefined
  /** For a stream: how each item is framed. */
  readonly framing?: 'sse' | 'lines' | 'sequence' | 'rows'
  /** For a stream of events: how the data of each kind of event is written. */
  readonly data?: readonly EventData[]
  /** For text: the schema types it may be converted to; undefined leaves it a string. */
  readonly types?: readonly string[] | undefined
  /** For CSV: the names of the fields, in the order of their columns. */
  readonly columns?: readonly string[]
  /** For a form: its declared fields. */
  readonly fields?: ReadonlyMap<string, Field>
  /** For a form: any other field (`additionalProperties`). */
  readonly additionalField?: Field | undefined
  /** For a request body that streams: bytes, the files of a form, or items. */
  readonly upload?: Upload
  /** Of a body, if it has a schema, or of an item of a stream. */
  readonly judge?: FunctionName
  /** Of what is sent as JSON: the body, an item, or the data of an event. */
  readonly writer?: FunctionName
}

/** How many bytes there may be. */
export interface Lengths {
  readonly minLength: number
  readonly maxLength: number
}

/** What of a body streams, and what of it is validated as it arrives: the lengths of a body of bytes. */
export interface Upload extends Lengths {
  /** Of a form: its files, by field. One that is alone is a field of the body, several are iterated over. */
  readonly files: ReadonlyMap<string, FileRules>
  /** Of a form: whether it has no other fields than those that are declared. */
  readonly isClosed: boolean
}

/** What the contract says about the files of a field. */
export interface FileRules extends Lengths {
  readonly isRequired: boolean
  readonly isList: boolean
  readonly minItems: number
  readonly maxItems: number
}

/** How the data of a kind of server-sent event is written. */
export interface EventData {
  /** As JSON, or as it is. */
  readonly isJson: boolean
  /** Whether the schema of the JSON, or that of the text, allows a string. */
  readonly allowsText: boolean
  /** The names of these events; undefined for any. */
  readonly events: readonly string[] | undefined
  /** The texts that their data may be; undefined for any. */
  readonly texts: readonly string[] | undefined
}

/** The request body of an operation. */
export interface Body {
  readonly required: boolean
  /** Every declared media type. */
  readonly mediaTypes: readonly string[]
  /** The media types the server can read. */
  readonly contents: readonly Content[]
}

/** A Response Object of an operation. */
export interface Response {
  /** Three digits, a class like `4xx`, or `default`, in lower case. */
  readonly status: string
  /** The status as in the contract: `4XX`. */
  readonly key: string
  readonly headers: readonly Header[]
  /** The media types a handler can return. */
  readonly contents: readonly Content[]
}

/**
 * How a parameter's value is serialized, unless the router or the query parser already reads it as a plain
 * string. A client writes it by its style, and the server reads it as `read` says.
 */
export interface ParameterForm {
  /** OpenAPI's `style`; `json` for a parameter with `content`; `whole` for one that is the whole query. */
  readonly style:
    | 'form'
    | 'simple'
    | 'label'
    | 'matrix'
    | 'spaceDelimited'
    | 'pipeDelimited'
    | 'deepObject'
    | 'cookie'
    | 'json'
    | 'whole'
  readonly explode: boolean
  /**
   * From one text: JSON, the text itself, a list, that of a header, or an object, either `name=value` or
   * names and values in turn. From a text for each element: a list, or a single value if there is one. From
   * texts with names of their own: an object, of `fields` or in brackets. Or from the whole query.
   */
  readonly read:
    | ('json' | 'text' | 'list' | 'headerList' | 'pairs' | 'turns')
    | ('repeated' | 'oneOrRepeated')
    | ('fields' | 'deepFields')
    | 'whole'
  /** Between the parts of one text. */
  readonly separator?: ',' | '.' | ' ' | '|'
  /** Of an object: the names of its properties. */
  readonly names: readonly string[]
  /** Of `fields`: whether any other name may be one. */
  readonly isOpen?: boolean
  /** Of `fields` in a query: the names that are none, or how they begin, with `[` at the end. */
  readonly taken: readonly string[]
  /** `allowEmptyValue`: an empty value counts as absent. */
  readonly allowEmptyValue?: boolean
  /** Of the whole query (`in: querystring`): what it is. */
  readonly content?: Content
}

/** A Parameter Object of an operation. */
export interface Parameter {
  readonly name: string
  /** Its name among the values of a request: that of a header in lower case. */
  readonly key: string
  /** `path`, `query`, also for the whole query, `header` or `cookie`. */
  readonly in: string
  readonly required: boolean
  readonly hasDefault: boolean
  /** The schema of the parameter, dereferenced, or of its `content`. */
  readonly schema: Schema
  /** Undefined for a plain string. */
  readonly form: ParameterForm | undefined
  /** Of one that is judged apart from the others of its location: JSON, or the whole query. */
  readonly judge?: FunctionName
}

/** The judges of a request's parameters. Query parameters have one always. */
export type PartJudges = Readonly<Partial<Record<Exclude<RequestPart, 'body'>, FunctionName>>>

/** When an operation was deprecated, when it is removed, and the operation that replaces it. */
export interface Deprecation {
  readonly deprecatedAt: Date
  readonly sunset: Date | undefined
  /** `x-after-sunset`: whether the operation is still served from the sunset on, or responds 410. */
  readonly afterSunset: 'serve' | 'gone'
  readonly successor: string | undefined
}

/** A Security Scheme Object, as the document has it. */
export interface SecurityScheme {
  readonly type: string
  /** Of `http`: the authentication scheme, such as `bearer`. */
  readonly scheme?: string
  /** Of `apiKey`: `header`, `query` or `cookie`, and the name there. */
  readonly in?: string
  readonly name?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly bearerFormat?: string
  readonly flows?: Readonly<Record<string, unknown>>
  readonly openIdConnectUrl?: string
}

/** A scheme that a request must meet, and the scopes or, of a scheme without scopes, the roles it needs. */
export interface Requirement {
  readonly name: string
  readonly scopes: readonly string[]
}

/** What an operation may receive and take. */
export interface OperationLimits {
  /** `bodyBytes`. */
  readonly body: number
  /** `itemBytes`: of each item of a body that is a stream of them, undefined of any other body. */
  readonly item?: number | undefined
  /** From the arrival of a request to its response; undefined: the server's own. */
  readonly timeoutMs: number | undefined
  /** Of a stream: after how long a silence a keep-alive is sent; undefined: see framing.ts. */
  readonly keepAliveMs: number | undefined
  /** Of a stream: after how long without an item it is ended; undefined: never. */
  readonly silenceMs: number | undefined
}

/** An operation of the contract. */
export interface Operation {
  readonly id: string
  /** The operationId as an identifier: the name of its handler's module and export. */
  readonly name: string
  /** In upper case. */
  readonly method: string
  /** GET and HEAD, which change nothing (RFC 9110, section 9.2.1). */
  readonly isSafe: boolean
  readonly summary: string | undefined
  /** The path of its servers' URLs, by default of the document's: `/v1`. */
  readonly prefix: string
  /** As in the contract, without the prefix: `/pets/{petId}`. */
  readonly path: string
  /** The path in the router's syntax, percent-decoded: `/pets/:petId`. */
  readonly route: string
  /**
   * Security Requirement Objects: alternatives, each the schemes that must all be met. An empty one makes the
   * operation public.
   */
  readonly security: readonly (readonly Requirement[])[]
  readonly parameters: readonly Parameter[]
  readonly judges: PartJudges
  readonly body: Body | undefined
  readonly responses: ReadonlyMap<string, Response>
  readonly deprecation: Deprecation | undefined
  /** `x-idempotent`: a repeated `Idempotency-Key` gets the stored response. */
  readonly isIdempotent: boolean
  /** `x-limits` of the operation, else the document's. */
  readonly limits: OperationLimits
  /** Extensions of the operation that the engine does not know: what the readers handed in made of each. */
  readonly extensions: Readonly<Record<string, unknown>>
  /**
   * Declarations the server does not support, a sentence each. With any, the operation can be a stub but have
   * no handler.
   */
  readonly unsupported: readonly string[]
  /** The Operation Object as in the document. */
  readonly definition: Readonly<Record<string, unknown>>
}

/** The headers of a signature, which are no parameters of a request. */
export const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** A request that the service sends: of a webhook, or of a callback. */
export interface SentRequest {
  /** In words: `the webhook petSold`. */
  readonly place: string
  /** In upper case. */
  readonly method: string
  /** Headers, except for those of a signature. */
  readonly parameters: readonly Parameter[]
  /** JSON. */
  readonly body: (Content & { readonly required: boolean }) | undefined
  /** Of a callback: the parts of its URL. */
  readonly url: readonly UrlPart[]
  readonly responses: ReadonlyMap<string, ReceiverResponse>
  /** The Operation Object with these parameters, in OpenAPI 3.1. */
  readonly definition: Readonly<Record<string, unknown>>
}

/** What the receiver of a request may respond: JSON and text as declared, any other body as bytes. */
export type ReceiverResponse = Pick<Response, 'status' | 'key' | 'contents'>

/** The contract as a file, for tools: as written, in JSON, in OpenAPI 3.1 if it is of 3.2, and in 3.0. */
export type FileForm = 'yaml' | 'json' | 'yaml31' | 'yaml30' | 'json30'

/**
 * The servers of such a file: the service alone, or before the contract's, of which `absolute` leaves out
 * those that are a path.
 */
export type FileServers = 'only' | 'first' | 'absolute'

/**
 * Everything the server reads from the contract: plain data, how to find its places and to write it, and its
 * functions.
 */
export interface Contract {
  /** The document as parsed, for `/openapi.json`. */
  readonly document: object
  /** The document upgraded to OpenAPI 3.1: the source of routes and validators. */
  readonly specification: object
  readonly title: string
  readonly version: string
  /** The path of the servers' URLs: the prefix of all operations that have no servers of their own. */
  readonly prefix: string
  readonly operations: ReadonlyMap<string, Operation>
  /** The requests of webhooks that can be sent, by name. */
  readonly webhooks: ReadonlyMap<string, SentRequest>
  /** The requests of callbacks that can be sent, by the name of their operation and their own. */
  readonly callbacks: ReadonlyMap<string, ReadonlyMap<string, SentRequest>>
  readonly securitySchemes: ReadonlyMap<string, SecurityScheme>
  /** The judge of a client's own `X-Request-Id`. */
  readonly requestId: FunctionName
  /** HTTP status by error code. */
  readonly errorStatuses: ReadonlyMap<string, number>
  /** Whether the contract lists the codes of errors, the server's own included (`ErrorCode`). */
  readonly describesErrors: boolean
  /** Extensions of the document that the engine does not know: what the readers handed in made of each. */
  readonly extensions: Readonly<Record<string, unknown>>
  /** How long the responses of idempotent operations are stored. */
  readonly idempotency: { readonly keepHours: number }
  /** Whether any schema uses `readOnly` or `writeOnly`. */
  readonly hasReadOrWriteOnly: boolean
  /** What the server ignores, adds or decides, a sentence each. */
  readonly warnings: readonly Problem[]
  /**
   * A line for each problem, with its place in the files, which are read again: `openapi.yaml:12:7: message`.
   */
  readonly locate: (problems: readonly Problem[]) => Promise<readonly string[]>
  /**
   * The text of a file, with `mark` in place of the URL of its first server, or of its only one.
   */
  readonly write: (form: FileForm, servers: FileServers) => Promise<string>
  /**
   * In place of the base address, which depends on who asks, in the texts of the contract: writing one anew
   * takes longer than all else that a request without a key can ask for.
   */
  readonly mark: string
  /** In bytes. */
  readonly limits: { readonly body: number; readonly url: number; readonly header: number }
  /**
   * The functions of its schemas, compiled when they are asked for, or when the contract was (code/load.ts).
   */
  readonly functions: () => Functions
}
