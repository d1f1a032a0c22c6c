// Writes a form with files (RFC 7578). It does not use FormData, which would write each line end in a text as
// CR LF, and so change the text.

import type { ClientField } from './table.js'

type Fields = Readonly<Record<string, ClientField>>

/**
 * Returns the body of a form, and its media type with the boundary.
 * @throws {TypeError} if a form cannot have a field of that name
 */
export function writeMultipart(
  entries: readonly (readonly [name: string, value: string | Blob])[],
  fields: Fields,
): { readonly content: Blob; readonly mediaType: string } {
  const boundary = `form-${randomText()}`
  const parts = entries.flatMap(([name, value]) => {
    checkName(name, fields)
    return [
      `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${ofFile(value)}\r\n\r\n`,
      value,
      '\r\n',
    ]
  })
  const content = new Blob([...parts, `--${boundary}--\r\n`])
  return { content, mediaType: `multipart/form-data; boundary=${boundary}` }
}

function ofFile(value: string | Blob): string {
  if (typeof value === 'string') return ''
  const name = value instanceof File ? value.name : 'blob'
  return `; filename="${escaped(name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}`
}

// Escapes a name as WHATWG HTML says (section 4.10.22.8). A percent sign is not escaped, so the service can
// tell a name from an escaped one only if it is declared.
function escaped(name: string): string {
  return name.replace(/[\r\n"]/g, encodeURIComponent)
}

function checkName(name: string, fields: Fields): void {
  const isDeclared = Object.hasOwn(fields, name)
  const isOther = !isDeclared && Object.hasOwn(fields, name.replace(/%(?:0A|0D|22)/gi, decodeURIComponent))
  const isEscaped = !isDeclared && /[\r\n"]/.test(name)
  if (isOther || isEscaped || /^[\s\ufeff]|[\s\ufeff]$|\\|^$|\p{Surrogate}/u.test(name))
    throw new TypeError(`a form cannot have the field ${JSON.stringify(name)}`)
}

function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
