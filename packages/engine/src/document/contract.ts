// The Contract: everything that the server and the tools read from openapi.yaml, as plain data.

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
  /** A name from compile/code/names.ts, as every name of a function. */
  readonly judge?: FunctionName
}

/** A field of a form body. */
export interface Field {
  readonly kind: 'text' | 'json' | 'file'
  readonly isList: boolean
  /** The types that the text may be converted to; undefined leaves it a string. */
  readonly types: readonly string[] | undefined
  /** The delimiter of a list that is sent as one string. */
  readonly separator: string | undefined
  /** The media types that its part may have (Encoding Object, `contentType`); empty for any. */
  readonly mediaTypes: readonly string[]
}

/** A Media Type Object of a request body or a response. */
export interface Content {
  /** As in the contract: possibly with parameters, or a range such as `image/*`. */
  readonly mediaType: string
  readonly kind: 'json' | 'text' | 'csv' | 'form' | 'multipart' | 'bytes' | 'stream'
  /**
   * For JSON, CSV and forms: with `$ref`s; undefined allows any value. For a stream: the schema of an item,
   * as a handler returns it.
   */
  readonly schema?: Schema | boolean | undefined
  /** For a stream: how each item is framed. */
  readonly framing?: 'sse' | 'lines' | 'sequence' | 'rows'
  /** For a stream of events: how the data of each kind of event is written. */
  readonly data?: readonly EventData[]
  /** For text: the types that it may be converted to; undefined leaves it a string. */
  readonly types?: readonly string[] | undefined
  /** For CSV: the names of the fields, in the order of their columns. */
  readonly columns?: readonly string[]
  /** For a form: its declared fields. */
  readonly fields?: ReadonlyMap<string, Field>
  /** For a form: any other field (`additionalProperties`). */
  readonly additionalField?: Field | undefined
  /** For a request body that streams: bytes, the files of a form, or items. */
  readonly upload?: Upload
  /** The judge of a body, if it has a schema, or of an item of a stream. */
  readonly judge?: FunctionName
  /** The writer of what is sent as JSON: the body, an item, or the data of an event. */
  readonly writer?: FunctionName
}

/** How many bytes are allowed. */
export interface Lengths {
  readonly minLength: number
  readonly maxLength: number
}

/**
 * What streams of a body, and how it is validated as it arrives. The lengths are those of a body of bytes.
 */
export interface Upload extends Lengths {
  /**
   * For a form: the rules of its files, by field. A single file is a field of the body; several are iterated
   * over.
   */
  readonly files: ReadonlyMap<string, FileRules>
  /** For a form: true if it may only have the declared fields. */
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
  /** True if the data is written as JSON; false if it is written as it is. */
  readonly isJson: boolean
  /** True if the schema of the JSON, or of the text, allows a string. */
  readonly allowsText: boolean
  /** The names of these events; undefined for any name. */
  readonly events: readonly string[] | undefined
  /** The texts that the data may be; undefined for any text. */
  readonly texts: readonly string[] | undefined
}

/** The request body of an operation. */
export interface Body {
  readonly required: boolean
  /** Every declared media type. */
  readonly mediaTypes: readonly string[]
  /** The media types that the server can read. */
  readonly contents: readonly Content[]
}

/** A Response Object of an operation. */
export interface Response {
  /** Three digits, a class like `4xx`, or `default`, in lower case. */
  readonly status: string
  /** The status as in the contract: `4XX`. */
  readonly key: string
  readonly headers: readonly Header[]
  /** The media types that a handler can return. */
  readonly contents: readonly Content[]
}

/**
 * How a parameter's value is serialized, unless the router or the query parser already reads it as a plain
 * string. A client writes it by its style; the server reads it by `read`.
 */
export interface ParameterForm {
  /**
   * OpenAPI's `style`; `json` for a parameter with `content`; `whole` for a parameter that is the whole
   * query.
   */
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
   * What the server reads, and from what. From one text: JSON, the text itself, a list, a list in a header,
   * or an object (`pairs` as `name=value`, `turns` as names and values in turn). From a text for each
   * element: a list, or a single value if there is only one text. From texts with names of their own: an
   * object, whose names are plain (`fields`) or in brackets (`deepFields`). Or from the whole query.
   */
  readonly read:
    | ('json' | 'text' | 'list' | 'headerList' | 'pairs' | 'turns')
    | ('repeated' | 'oneOrRepeated')
    | ('fields' | 'deepFields')
    | 'whole'
  /** Stands between the parts of one text. */
  readonly separator?: ',' | '.' | ' ' | '|'
  /** For an object: the names of its properties. */
  readonly names: readonly string[]
  /** For `fields`: true if any other name may be a field. */
  readonly isOpen?: boolean
  /**
   * For `fields` in a query: the names that are no fields of it. A name with `[` at the end stands for all
   * that begin with it.
   */
  readonly taken: readonly string[]
  /** `allowEmptyValue`: an empty value counts as absent. */
  readonly allowEmptyValue?: boolean
  /** For the whole query (`in: querystring`): its content. */
  readonly content?: Content
}

/** A Parameter Object of an operation. */
export interface Parameter {
  readonly name: string
  /** Its name among the values of a request: a header's is in lower case. */
  readonly key: string
  /** `path`, `query` (also for the whole query), `header` or `cookie`. */
  readonly in: string
  readonly required: boolean
  readonly hasDefault: boolean
  /** The schema of the parameter, dereferenced, or of its `content`. */
  readonly schema: Schema
  /** Undefined for a plain string. */
  readonly form: ParameterForm | undefined
  /**
   * The judge of a parameter that is judged apart from the others of its location: JSON, or the whole query.
   */
  readonly judge?: FunctionName
}

/** The judges of a request's parameters. There is always one for the query. */
export type PartJudges = Readonly<Partial<Record<Exclude<RequestPart, 'body'>, FunctionName>>>

/** When an operation was deprecated, when it is removed, and the operation that replaces it. */
export interface Deprecation {
  readonly deprecatedAt: Date
  readonly sunset: Date | undefined
  /** `x-after-sunset`: whether the operation is still served from its sunset on, or responds 410. */
  readonly afterSunset: 'serve' | 'gone'
  readonly successor: string | undefined
}

/** A Security Scheme Object, as the document has it. */
export interface SecurityScheme {
  readonly type: string
  /** For `http`: the authentication scheme, such as `bearer`. */
  readonly scheme?: string
  /** For `apiKey`: `header`, `query` or `cookie`, and the name there. */
  readonly in?: string
  readonly name?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly bearerFormat?: string
  readonly flows?: Readonly<Record<string, unknown>>
  readonly openIdConnectUrl?: string
}

/** A scheme that a request must meet, with the scopes it needs; for a scheme without scopes, the roles. */
export interface Requirement {
  readonly name: string
  readonly scopes: readonly string[]
}

/** How much and how long an operation receives and takes. */
export interface OperationLimits {
  /** `bodyBytes`. */
  readonly body: number
  /**
   * `itemBytes`: the limit for each item of a body that is a stream of items; undefined for any other body.
   */
  readonly item?: number | undefined
  /** The time from the arrival of a request to its response; undefined for the server's own limit. */
  readonly timeoutMs: number | undefined
  /** For a stream: the silence after which a keep-alive is sent; undefined for the default (framing.ts). */
  readonly keepAliveMs: number | undefined
  /** For a stream: the time without an item after which it is ended; undefined for never. */
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
  /** The path of the operation's server URLs, by default of the document's: `/v1`. */
  readonly prefix: string
  /** As in the contract, without the prefix: `/pets/{petId}`. */
  readonly path: string
  /** The path in the router's syntax, percent-decoded: `/pets/:petId`. */
  readonly route: string
  /**
   * Security Requirement Objects: alternatives, each a list of schemes that must all be met. An empty
   * alternative makes the operation public.
   */
  readonly security: readonly (readonly Requirement[])[]
  readonly parameters: readonly Parameter[]
  readonly judges: PartJudges
  readonly body: Body | undefined
  readonly responses: ReadonlyMap<string, Response>
  readonly deprecation: Deprecation | undefined
  /** `x-idempotent`: a repeated `Idempotency-Key` gets the stored response. */
  readonly isIdempotent: boolean
  /** `x-limits` of the operation, or else the document's. */
  readonly limits: OperationLimits
  /** The operation's extensions that the engine does not know, each as its reader returned it. */
  readonly extensions: Readonly<Record<string, unknown>>
  /**
   * Declarations that the server does not support, one sentence each. With any, the operation can be a stub,
   * but it cannot have a handler.
   */
  readonly unsupported: readonly string[]
  /** The Operation Object as in the document. */
  readonly definition: Readonly<Record<string, unknown>>
}

/** The headers of a signature, which are no parameters of a request. */
export const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** A request that the service sends: of a webhook, or of a callback. */
export interface SentRequest {
  /** Names the request in messages: `the webhook petSold`. */
  readonly place: string
  /** In upper case. */
  readonly method: string
  /** Headers, except those of a signature. */
  readonly parameters: readonly Parameter[]
  /** JSON. */
  readonly body: (Content & { readonly required: boolean }) | undefined
  /** For a callback: the parts of its URL. */
  readonly url: readonly UrlPart[]
  readonly responses: ReadonlyMap<string, ReceiverResponse>
  /** The Operation Object with these parameters, in OpenAPI 3.1. */
  readonly definition: Readonly<Record<string, unknown>>
}

/** What the receiver of a request may respond: JSON and text as declared, and any other body as bytes. */
export type ReceiverResponse = Pick<Response, 'status' | 'key' | 'contents'>

/**
 * The contract as a file, for tools: as written, as JSON, in OpenAPI 3.1 if it is written in 3.2, and in 3.0.
 */
export type FileForm = 'yaml' | 'json' | 'yaml31' | 'yaml30' | 'json30'

/**
 * The servers in such a file: `only` the service, or the service `first` and then the contract's servers.
 * `absolute` is `first` without servers that are only a path.
 */
export type FileServers = 'only' | 'first' | 'absolute'

/**
 * Everything that the server reads from the contract: plain data, functions that locate and write it, and the
 * functions of its schemas.
 */
export interface Contract {
  /** The document as parsed, for `/openapi.json`. */
  readonly document: object
  /** The document upgraded to OpenAPI 3.1: the source of routes and validators. */
  readonly specification: object
  readonly title: string
  readonly version: string
  /** The path of the server URLs: the prefix of all operations that have no servers of their own. */
  readonly prefix: string
  readonly operations: ReadonlyMap<string, Operation>
  /** The requests of webhooks that can be sent, by name. */
  readonly webhooks: ReadonlyMap<string, SentRequest>
  /** The requests of callbacks that can be sent, by the name of their operation and their own name. */
  readonly callbacks: ReadonlyMap<string, ReadonlyMap<string, SentRequest>>
  readonly securitySchemes: ReadonlyMap<string, SecurityScheme>
  /** The judge of a client's own `X-Request-Id`. */
  readonly requestId: FunctionName
  /** HTTP status by error code. */
  readonly errorStatuses: ReadonlyMap<string, number>
  /** True if the contract lists the codes of errors, including the server's own (`ErrorCode`). */
  readonly describesErrors: boolean
  /** The document's extensions that the engine does not know, each as its reader returned it. */
  readonly extensions: Readonly<Record<string, unknown>>
  /** How long the responses of idempotent operations are stored. */
  readonly idempotency: { readonly keepHours: number }
  /** True if any schema uses `readOnly` or `writeOnly`. */
  readonly hasReadOrWriteOnly: boolean
  /** What the server ignores, adds or decides, one sentence each. */
  readonly warnings: readonly Problem[]
  /**
   * Returns a line for each problem, with its place in the files, which are read again: `openapi.yaml:12:7:
   * message`.
   */
  readonly locate: (problems: readonly Problem[]) => Promise<readonly string[]>
  /** Returns the text of a file, with `mark` in place of the URL of its first or only server. */
  readonly write: (form: FileForm, servers: FileServers) => Promise<string>
  /**
   * Stands for the base address in the texts of the contract. The address depends on who asks, and to write a
   * text anew for each caller takes longer than anything else that a request without a key can ask for.
   */
  readonly mark: string
  /** In bytes. */
  readonly limits: { readonly body: number; readonly url: number; readonly header: number }
  /**
   * Returns the functions of its schemas: compiled when they are first asked for, or printed when the
   * contract was compiled (code/load.ts).
   */
  readonly functions: () => Functions
}
