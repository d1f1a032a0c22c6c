// Encodes the body of a request as the contract declares it: JSON, text, a form or bytes.

import { encode } from './json.js'
import type { ClientBody, ClientField } from './table.js'

/** A body that `fetch` can send. */
export interface EncodedBody {
  readonly content: string | FormData | Uint8Array | Blob
  /** Undefined for a FormData: `fetch` chooses its boundary and sets the Content-Type. */
  readonly mediaType: string | undefined
}

type Form = Readonly<Record<string, unknown>>
type Entry = readonly [name: string, value: string | Blob]

/** Encodes a body, as JSON by default. */
export function writeRequestBody(
  value: unknown,
  { kind, mediaType, fields = {} }: ClientBody = { kind: 'json', mediaType: 'application/json' },
): EncodedBody {
  if (kind === 'json') return { content: encode(value), mediaType }
  if (kind === 'text') return { content: String(value), mediaType }
  if (kind === 'bytes') return bytes(value as Uint8Array | Blob, mediaType)
  const entries = entriesOf(value as Form, fields)
  if (kind === 'form')
    return { content: String(new URLSearchParams(entries as [string, string][])), mediaType }
  const form = new FormData()
  for (const [name, each] of entries) form.append(name, each)
  return { content: form, mediaType: undefined }
}

// The type of a Blob takes precedence: if the contract declares a range, such as `image/*`, only the Blob
// knows the type.
function bytes(content: Uint8Array | Blob, mediaType = 'application/octet-stream'): EncodedBody {
  const own = content instanceof Blob ? content.type : ''
  return { content, mediaType: own || mediaType }
}

// OpenAPI 3.1.1, section 4.8.15: one entry per array element, or one entry with a separator.
function entriesOf(form: Form, fields: NonNullable<ClientBody['fields']>): Entry[] {
  const given = Object.entries(form).filter(([, value]) => value !== undefined)
  return given.flatMap(([name, value]): Entry[] => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!Array.isArray(value)) return [[name, single(value, field)]]
    const all = value.map((each) => single(each, field))
    return field?.separator === undefined
      ? all.map((each) => [name, each])
      : [[name, all.join(field.separator)]]
  })
}

function single(value: unknown, { isJson, mediaType = '' }: ClientField = {}): string | Blob {
  if (value instanceof Blob) return value
  if (value instanceof Uint8Array) return new Blob([value as Uint8Array<ArrayBuffer>], { type: mediaType })
  if (isJson || (typeof value === 'object' && value !== null)) return encode(value)
  return value === null ? '' : String(value)
}
