// The table of the contract that the client uses at run time. generated/client.ts contains it.

import type { Framing } from './framing.js'

/**
 * What a schema says about the numbers in a value: `int64` or `number` for the value itself, a `$ref`, or the
 * places of its members. A number without a place is described by no schema, or is an integer that a number
 * keeps exactly.
 */
export type Place = 'int64' | 'number' | `#${string}` | Places

/** The places of the numbers inside an object or an array. */
export interface Places {
  /** By the name of a property; null if it has no number. */
  readonly properties?: Readonly<Record<string, Place | null>>
  /** By the regular expression that the name of a property matches. */
  readonly patterns?: Readonly<Record<string, Place | null>>
  /** The place of every other property. */
  readonly additional?: Place
  /** The places of the first elements of an array, by position. */
  readonly prefix?: readonly (Place | null)[]
  /** The place of every other element. */
  readonly items?: Place
  /** The places of the schemas that describe the same value, such as those of `allOf`, `oneOf` and `then`. */
  readonly each?: readonly Place[]
}

/** Returns the place of a schema by its name in the contract (a JSON Pointer: RFC 6901). */
export function placeOfSchema(name: string): Place {
  return `#/components/schemas/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** How the body of a response is decoded. */
export type ContentKind = 'json' | 'text' | 'bytes' | 'stream'

/** How the items of a stream are read. */
export interface ClientStream {
  readonly framing: Framing
  /** After how long a silence the service sends a keep-alive, in milliseconds; undefined if it never does. */
  readonly keepAliveMs?: number
  /** The numbers in an event whose data is JSON, or in an item of JSON. */
  readonly numbers?: Place
  /**
   * The events whose data is text, by their names and by the texts that the data may be. An absent member
   * allows any.
   */
  readonly texts?: readonly {
    readonly events?: readonly string[]
    readonly texts?: readonly string[]
  }[]
}

/** A body that is not `application/json`. */
export interface ClientBody {
  readonly kind: 'json' | 'text' | 'form' | 'multipart' | 'bytes' | 'stream'
  /** For a stream of items: how each is written; by default, as a line. */
  readonly framing?: 'lines' | 'sequence'
  /** Undefined for a range: the body itself has the type. */
  readonly mediaType?: string
  /** For a form: the fields that are neither plain text nor a file of any type. */
  readonly fields?: Readonly<Record<string, ClientField>>
  readonly numbers?: Place
}

/** How a field of a form is encoded. */
export interface ClientField {
  readonly isJson?: true
  /** For JSON: each element of an array has an entry of its own. */
  readonly isList?: true
  /** The service reads an empty text as null. */
  readonly isNullable?: true
  /** If the field is absent, the service fills in its default. */
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
  /** Present if the parameter is not a single plain value. */
  readonly form?: ClientForm
  readonly numbers?: Place
  /** If the parameter is absent, the service fills in its default. */
  readonly isFilled?: true
}

/** How the value of a parameter is serialized. */
export interface ClientForm {
  /** A style of OpenAPI, `json`, or `whole` if the value is the whole query. */
  readonly style: string
  readonly explode: boolean
  /** The service reads a list of one as a single value. */
  readonly isOneOrList?: true
  /** For fields that are cookies of their own: the names that the service reads. */
  readonly names?: readonly string[]
  /**
   * For fields that are parameters of their own: the names that others have. A name with `[` at its end
   * stands for all names that begin with it.
   */
  readonly taken?: readonly string[]
  /** For the whole query: its content; by default, JSON. */
  readonly body?: ClientBody
}

/** How the credential of a security scheme is sent. */
export interface ClientScheme {
  /**
   * `authorization` means the header of that name, with an authentication scheme such as `bearer` or `basic`.
   */
  readonly in: 'authorization' | 'header' | 'query' | 'cookie'
  /** The name of the authentication scheme, the header, the parameter or the cookie. */
  readonly name: string
}

/**
 * By media type, the names of the fields that an error body always has. Without any media type, it has no
 * body.
 */
export type ErrorContents = Readonly<Record<string, readonly string[]>>

/** How an operation is called. */
export interface ClientOperation {
  readonly method: string
  /** The prefix of its own servers, if it differs from the table's. */
  readonly prefix?: string
  readonly path: string
  /**
   * How the service divides the path if two parameters share a segment: a regular expression with a group for
   * each.
   */
  readonly divided?: string
  /** The paths of other operations that also match this path, as regular expressions. */
  readonly rivals?: readonly string[]
  /** Accepts an `Idempotency-Key`: a repeated request takes effect once. */
  readonly idempotent?: true
  /** How many requests it counts as in the quotas of a key, if not one. */
  readonly cost?: number
  /** The alternatives: each has the names of all schemes that it needs; an empty one needs none. */
  readonly security?: readonly (readonly string[])[]
  readonly parameters?: readonly ClientParameter[]
  readonly body?: ClientBody
  /**
   * The declared error responses by status, `4xx` or `default`, and by media type: the fields that a body
   * always has.
   */
  readonly errors?: Readonly<Record<string, ErrorContents>>
  /**
   * The kinds of response bodies by status, `2xx` or `default`, and by media type, if they are not only JSON
   * or some have no body.
   */
  readonly contents?: Readonly<Record<string, Readonly<Record<string, ContentKind>>>>
  /** The numbers in response bodies of JSON, by status, `2xx` or `default`, and by media type. */
  readonly numbers?: Readonly<Record<string, Readonly<Record<string, Place | null>>>>
  /** The responses that are streams of items, by status, `2xx` or `default`, and by media type. */
  readonly streams?: Readonly<Record<string, Readonly<Record<string, ClientStream>>>>
  /** No successful response but a stream has a body. */
  readonly isStream?: true
  /** The operation that replaces this one. */
  readonly successor?: string
}

/** The operations of a contract, and its schemas that have numbers. */
export interface ClientTable {
  /** The name and version of the package, for `User-Agent`. */
  readonly agent: string
  /** The prefix of the paths of operations: `/v1`. */
  readonly prefix: string
  readonly operations: Readonly<Record<string, ClientOperation>>
  /** The security schemes of the operations, by name. */
  readonly securitySchemes: Readonly<Record<string, ClientScheme>>
  /** The places of schemas, by `$ref`. */
  readonly schemas: Readonly<Record<string, Place>>
}

/** An operation with its name, and the schemas that it refers to. */
export interface CalledOperation extends ClientOperation {
  readonly id: string
  readonly schemas: ClientTable['schemas']
}

/**
 * Finds an operation.
 * @throws {TypeError} if there is none of that name
 */
export function operationOf({ operations, schemas }: ClientTable, id: string): CalledOperation {
  const operation = Object.hasOwn(operations, id) ? operations[id] : undefined
  if (operation === undefined) throw new TypeError(`unknown operation: ${id}`)
  return { ...operation, id, schemas }
}

/** Returns what is declared for a status: by the status itself, by its class, or by `default`. */
export function ofStatus<Each>(
  declared: Readonly<Record<string, Each>> = {},
  status: number,
): Each | undefined {
  return declared[status] ?? declared[`${String(status)[0]}xx`] ?? declared.default
}
