// The table of the contract that the client uses at run time. generated/client.ts contains it.

import type { Framing } from './framing.js'

/**
 * What a schema says about the numbers in a value: `int64` and `number` about the value itself, a `$ref`, or
 * about its members. A number of no place is described by no schema, or is an integer that a number keeps.
 */
export type Place = 'int64' | 'number' | `#${string}` | Places

/** What a schema says about the numbers inside an object or an array. */
export interface Places {
  /** Null: no number in this property. */
  readonly properties?: Readonly<Record<string, Place | null>>
  /** By regular expression: in the properties that match it. */
  readonly patterns?: Readonly<Record<string, Place | null>>
  /** In every other property. */
  readonly additional?: Place
  /** In the first elements of an array, by position. */
  readonly prefix?: readonly (Place | null)[]
  /** In every other element. */
  readonly items?: Place
  /** In the schemas that describe the same value, such as those of `allOf`, `oneOf` and `then`. */
  readonly each?: readonly Place[]
}

/** The place of a schema by its name in the contract (a JSON Pointer: RFC 6901). */
export function placeOfSchema(name: string): Place {
  return `#/components/schemas/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** How the body of a response is decoded. */
export type ContentKind = 'json' | 'text' | 'bytes' | 'stream'

/** How the items of a stream are read. */
export interface ClientStream {
  readonly framing: Framing
  /** After how long a silence the service sends something else than an item; undefined: never. */
  readonly keepAliveMs?: number
  /** In an event whose data is JSON, or in an item of JSON. */
  readonly numbers?: Place
  /** The events whose data is text, by their names and by what the text may be; any without. */
  readonly texts?: readonly {
    readonly events?: readonly string[]
    readonly texts?: readonly string[]
  }[]
}

/** A body that is not `application/json`. */
export interface ClientBody {
  readonly kind: 'json' | 'text' | 'form' | 'multipart' | 'bytes' | 'stream'
  /** Of a stream of items: how each is written, by default as a line. */
  readonly framing?: 'lines' | 'sequence'
  /** Undefined for a range: the type comes from the body. */
  readonly mediaType?: string
  /** In a form: the fields that are neither plain text nor a file of any type. */
  readonly fields?: Readonly<Record<string, ClientField>>
  readonly numbers?: Place
}

/** How a field of a form is encoded. */
export interface ClientField {
  readonly isJson?: true
  /** Of JSON: each element of an array has an entry of its own. */
  readonly isList?: true
  /** The service reads null in an empty text. */
  readonly isNullable?: true
  /** The service fills it in if it is absent. */
  readonly isFilled?: true
  /** Separates the elements of an array that is sent as a single value. */
  readonly separator?: string
  /** The type of a file. */
  readonly mediaType?: string
}

/** A parameter that is not a single plain value, or has an int64 or a default. */
export interface ClientParameter {
  readonly name: string
  readonly in: string
  /** If it is not a single plain value. */
  readonly form?: ClientForm
  readonly numbers?: Place
  /** The service fills it in if it is absent. */
  readonly isFilled?: true
}

/** How the value of a parameter is serialized. */
export interface ClientForm {
  /** A style of OpenAPI, `json`, or `whole`: the value is the whole query. */
  readonly style: string
  readonly explode: boolean
  /** A list of one is a single value to the service. */
  readonly isOneOrList?: true
  /** Of fields that are cookies of their own: the names that the service reads. */
  readonly names?: readonly string[]
  /** Of fields that are parameters of their own: the names of others; with `[` at its end, what begins so. */
  readonly taken?: readonly string[]
  /** Of the whole query: what it is; JSON by default. */
  readonly body?: ClientBody
}

/** How the credential of a security scheme is sent. */
export interface ClientScheme {
  /** `authorization`: in the header of that name, by an authentication scheme such as `bearer` or `basic`. */
  readonly in: 'authorization' | 'header' | 'query' | 'cookie'
  /** The name of the authentication scheme, the header, the parameter or the cookie. */
  readonly name: string
}

/** By media type, the names of the fields that an error body always has; without any, it has no body. */
export type ErrorContents = Readonly<Record<string, readonly string[]>>

/** How an operation is called. */
export interface ClientOperation {
  readonly method: string
  /** That of its own servers, if it is another one than the table's. */
  readonly prefix?: string
  readonly path: string
  /** How the service divides the path where two parameters share a segment: a group for each. */
  readonly divided?: string
  /** The paths of its form that are other operations'. */
  readonly rivals?: readonly string[]
  /** Accepts an `Idempotency-Key`: a repeated request takes effect once. */
  readonly idempotent?: true
  /** The requests that one of it counts as in the quotas of a key, if not one. */
  readonly cost?: number
  /** Alternatives, each the names of the schemes that it needs all of; an empty one needs none. */
  readonly security?: readonly (readonly string[])[]
  readonly parameters?: readonly ClientParameter[]
  readonly body?: ClientBody
  /**
   * The declared error responses by status, `4xx` or `default`: of each media type the fields that a body
   * has.
   */
  readonly errors?: Readonly<Record<string, ErrorContents>>
  /** If responses are not only JSON, or have no body: its media types, by status, `2xx` or `default`. */
  readonly contents?: Readonly<Record<string, Readonly<Record<string, ContentKind>>>>
  /** The numbers in response bodies of JSON, by status, `2xx` or `default`, and by media type. */
  readonly numbers?: Readonly<Record<string, Readonly<Record<string, Place | null>>>>
  /** The responses that are streams of items, by status, `2xx` or `default`, and by media type. */
  readonly streams?: Readonly<Record<string, Readonly<Record<string, ClientStream>>>>
  /** No response but a stream has a body, if it is no error. */
  readonly isStream?: true
  /** The operation that replaces this one. */
  readonly successor?: string
}

/** The operations of a contract, and its schemas that have numbers. */
export interface ClientTable {
  /** The name and version of the package, for `User-Agent`. */
  readonly agent: string
  /** The path that the paths of operations continue: `/v1`. */
  readonly prefix: string
  readonly operations: Readonly<Record<string, ClientOperation>>
  /** The security schemes of the operations, by name. */
  readonly securitySchemes: Readonly<Record<string, ClientScheme>>
  /** By `$ref`. */
  readonly schemas: Readonly<Record<string, Place>>
}

/** An operation with its name, and the schemas that it refers to. */
export interface CalledOperation extends ClientOperation {
  readonly id: string
  readonly schemas: ClientTable['schemas']
}

/** Finds an operation. @throws {TypeError} if there is none of that name */
export function operationOf({ operations, schemas }: ClientTable, id: string): CalledOperation {
  const operation = Object.hasOwn(operations, id) ? operations[id] : undefined
  if (operation === undefined) throw new TypeError(`unknown operation: ${id}`)
  return { ...operation, id, schemas }
}

/** What is declared for a status: by itself, by its class, or by `default`. */
export function ofStatus<Each>(
  declared: Readonly<Record<string, Each>> = {},
  status: number,
): Each | undefined {
  return declared[status] ?? declared[`${String(status)[0]}xx`] ?? declared.default
}
