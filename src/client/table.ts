// What the client knows of the contract at run time: generated/client.ts is of this form.

/** Where int64 stand in a value: right here, where a `$ref` leads, or further in. */
export type Place = 'int64' | `#/${string}` | Places

export interface Places {
  /** Null: none there. */
  readonly properties?: Readonly<Record<string, Place | null>>
  /** Of every other property. */
  readonly additional?: Place
  /** Of an array, by position. */
  readonly prefix?: readonly (Place | null)[]
  /** Of every other element. */
  readonly items?: Place
  /** Of a value that is held to several schemas, or to one of several. */
  readonly each?: readonly Place[]
}

/** How the body of an answer is read. */
export type ContentKind = 'json' | 'text' | 'bytes'

/** A body that is not `application/json`. */
export interface ClientBody {
  readonly kind: 'json' | 'text' | 'form' | 'multipart' | 'bytes'
  /** Undefined of a range, which the body itself has to tell. */
  readonly mediaType?: string
  /** Of a form: the fields that are not simply text, or a file of any type. */
  readonly fields?: Readonly<Record<string, ClientField>>
}

export interface ClientField {
  readonly isJson?: true
  /** Between the elements of a list that is one text. */
  readonly separator?: string
  /** Of a file. */
  readonly mediaType?: string
}

/** A parameter that is written in another way than as one text by its name. */
export interface ClientParameter {
  readonly name: string
  readonly in: string
  /** OpenAPI's, or `json`. */
  readonly style: string
  readonly explode: boolean
}

export interface ClientOperation {
  readonly method: string
  readonly path: string
  /** It takes an `Idempotency-Key`: a repeated request does nothing twice. */
  readonly idempotent?: true
  readonly parameters?: readonly ClientParameter[]
  readonly body?: ClientBody
  /** Of an operation that answers with more than JSON: by status, `2xx` or `default`, the media types of its body. */
  readonly contents?: Readonly<Record<string, Readonly<Record<string, ContentKind>>>>
  /** Where int64 stand in the body, by status, `2xx` or `default`. */
  readonly int64?: Readonly<Record<string, Place>>
}

export interface ClientTable {
  readonly operations: Readonly<Record<string, ClientOperation>>
  /** By `$ref`. */
  readonly schemas: Readonly<Record<string, Place>>
}
