// The contract as the server knows it.

/** A JSON Schema. */
export type Schema = { readonly [keyword: string]: unknown }

/** A header that a response declares. */
export interface Header {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
  /** The server sets it on its own; a handler neither has to nor can. */
  readonly setByServer: boolean
}

/** A field of a form. */
export interface Field {
  readonly kind: 'text' | 'json' | 'file'
  readonly isList: boolean
  /** That its text may stand for; undefined: any, so it stays text. */
  readonly types: readonly string[] | undefined
  /** Between the items of a list that is written as one text. */
  readonly separator: string | undefined
  /** That its part may be of; none: any. */
  readonly mediaTypes: readonly string[]
}

/** One of the types that a body or an answer may have. */
export interface Content {
  /** As in the contract: with parameters, or a range. */
  readonly mediaType: string
  readonly kind: 'json' | 'text' | 'form' | 'multipart' | 'bytes'
  /** Of JSON and forms with references; absent for anything. */
  readonly schema?: Schema | boolean | undefined
  /** Of text: what it may stand for; undefined: text. */
  readonly types?: readonly string[] | undefined
  /** Of a form. */
  readonly fields?: ReadonlyMap<string, Field>
  /** Of a form: those of any other name. */
  readonly others?: Field | undefined
}

/** The body that an operation takes. */
export interface Body {
  readonly required: boolean
  /** All that are declared. */
  readonly mediaTypes: readonly string[]
  /** Those that are taken. */
  readonly contents: readonly Content[]
}

/** A response that an operation declares. */
export interface Response {
  /** Three digits, a class like `4xx`, or `default`. */
  readonly status: string
  /** The status as in the contract: `4XX`. */
  readonly key: string
  readonly headers: readonly Header[]
  /** Those that a handler can give. */
  readonly contents: readonly Content[]
}

/** How the value of a parameter is written, where it is more than a text that the router or the query parser reads. */
export interface ParameterForm {
  /** OpenAPI's, or that of a `content`, which is JSON. */
  readonly style:
    | 'form'
    | 'simple'
    | 'label'
    | 'matrix'
    | 'spaceDelimited'
    | 'pipeDelimited'
    | 'deepObject'
    | 'json'
  readonly explode: boolean
  /** A text, several, or names with one each. */
  readonly shape: 'text' | 'list' | 'textOrList' | 'object'
  /** Of an object: its fields. */
  readonly names: readonly string[]
  /** Of an object: whether it has fields of any other name, too. */
  readonly takesOthers: boolean
  /** `allowEmptyValue`: an empty value is as good as none. */
  readonly isEmptyAbsent: boolean
}

/** A parameter that an operation declares. */
export interface Parameter {
  readonly name: string
  /** `path`, `query`, `header` or `cookie`. */
  readonly in: string
  readonly required: boolean
  readonly hasDefault: boolean
  /** Its own, without references, or its content's. */
  readonly schema: Schema
  /** Undefined: plain text. */
  readonly form: ParameterForm | undefined
}

/** When an operation was deprecated, when it goes, and the operation to use instead. */
export interface Deprecation {
  readonly deprecatedAt: Date
  readonly sunset: Date | undefined
  readonly successor: string | undefined
}

/** One operation of the contract. */
export interface Operation {
  readonly id: string
  /** The id as the name of its module and of what that exports. */
  readonly name: string
  /** In upper case. */
  readonly method: string
  readonly summary: string | undefined
  /** As in the contract, without the prefix: `/pets/{petId}`. */
  readonly path: string
  /** The path as the router knows it: decoded, and `/pets/:petId`. */
  readonly route: string
  /** Alternatives, each the names of the schemes that must all pass; an empty one makes it public. */
  readonly security: readonly (readonly string[])[]
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  readonly responses: ReadonlyMap<string, Response>
  readonly deprecation: Deprecation | undefined
  /** A request for it may carry a key, and is then done once however often it arrives. */
  readonly isIdempotent: boolean
  /** What it declares and the server could not read or write, a sentence each: with any, it can be planned but not written. */
  readonly unread: readonly string[]
  /** As the document has it. */
  readonly definition: Readonly<Record<string, unknown>>
}

/** Requests a minute and a day. */
export interface Quotas {
  readonly perMinute: number
  readonly perDay: number
}

/** How many requests are answered (`x-rate-limits`). */
export interface RateLimits {
  /** By plan; `custom` where they are agreed per key. */
  readonly plans: ReadonlyMap<string, Quotas | 'custom'>
  /** Of callers without a valid key, by address. */
  readonly anonymous: { readonly perMinute: number }
  /** More rejections than these within these seconds ban a key for those. */
  readonly ban: { readonly rejections: number; readonly withinSeconds: number; readonly banSeconds: number }
}

/** Everything the server takes from the contract. */
export interface Contract {
  /** The document as parsed, for `/openapi.json`. */
  readonly document: object
  /** The document as written, for `/openapi.yaml`. */
  readonly text: string
  /** The document in the one dialect that routes and schemas are made from. */
  readonly specification: object
  readonly title: string
  readonly version: string
  /** The path of the servers' addresses: where the operations are mounted. */
  readonly prefix: string
  readonly operations: ReadonlyMap<string, Operation>
  readonly securitySchemes: ReadonlyMap<string, { readonly type: string; readonly scheme?: string }>
  /** What an `X-Request-Id` may be. */
  readonly requestId: Schema
  /** HTTP status by error code. */
  readonly errorStatuses: ReadonlyMap<string, number>
  /** The media type of the one error body. */
  readonly errorType: string
  /** Whether the contract describes the server's own errors (`ErrorCode`), so that they can be held to it. */
  readonly describesErrors: boolean
  /** Whether requests are counted at all. */
  readonly isMetered: boolean
  readonly rateLimits: RateLimits
  /** How long the answers of idempotent operations are kept. */
  readonly idempotency: { readonly keepHours: number }
  /** Whether a field anywhere goes one way only: `readOnly` or `writeOnly`. */
  readonly hasOneWayFields: boolean
  /** What it declares and the server leaves out, a sentence each. */
  readonly left: readonly string[]
  /** In bytes. */
  readonly limits: { readonly body: number; readonly url: number; readonly header: number }
}
