// Serializes parameters by their `style` and `explode` (OpenAPI 3.1.1, section 4.8.12.6, after RFC 6570), JSON and cookies.

import { encode } from './json.js'
import type { ClientParameter } from './table.js'

type Form = Pick<ClientParameter, 'style' | 'explode'>
type Values = Readonly<Record<string, unknown>>

/** Serializes the parameters of a request, in the form that openapi-fetch accepts. */
export function writeParameters(
  parameters: readonly ClientParameter[],
  { header, cookie }: { readonly header?: object | undefined; readonly cookie?: object | undefined },
): {
  readonly header: Record<string, string>
  pathSerializer(path: string, values: Values): string
  querySerializer(values: Values): string
} {
  const formOf = (location: string, name: string, plain: Form): Form =>
    parameters.find((each) => each.in === location && each.name.toLowerCase() === name.toLowerCase()) ?? plain
  const simple: Form = { style: 'simple', explode: false }
  const form: Form = { style: 'form', explode: true }
  // The JSON of a `content` parameter is a single value, in every location.
  const writeIn = (location: string, name: string, value: unknown, plain: Form, one: Write): string => {
    const its = formOf(location, name, plain)
    return its.style === 'json' ? write(name, json(value), plain, one) : write(name, value, its, one)
  }
  const headers = given(header).map(([name, value]) => [name, writeIn('header', name, value, simple, bare)])
  const cookies = given(cookie).map(([name, value]) => writeIn('cookie', name, value, form, encoded))
  return {
    // Browsers ignore this header and send their own cookies.
    header: { ...Object.fromEntries(headers), ...(cookies.length > 0 && { Cookie: cookies.join('; ') }) },
    pathSerializer: (path, values) =>
      path.replace(/\{([^{}]+)\}/g, (_, name) => writeIn('path', name, values[name], simple, encoded)),
    querySerializer: (values) =>
      given(values)
        .map(([name, value]) => writeIn('query', name, value, form, encoded))
        .filter((each) => each !== '')
        .join('&'),
  }
}

// Escaped to ASCII, because headers allow nothing else.
function json(value: unknown): string {
  return encode(value).replace(
    /[^\x20-\x7e]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function given(values: object | undefined): [name: string, value: unknown][] {
  return Object.entries(values ?? {}).filter(([, value]) => value !== undefined && value !== null)
}

type Write = (value: unknown) => string

function encoded(value: unknown): string {
  return encodeURIComponent(String(value))
}

// Headers are not percent-encoded.
const bare: Write = String

function write(name: string, value: unknown, { style, explode }: Form, one: Write): string {
  const named = (text: string) => `${encoded(name)}=${text}`
  const dotless: Write = (each) => one(each).replaceAll('.', '%2E')
  const all = parts(value, explode, style === 'label' && explode ? dotless : one)
  // Exploded, the elements of a list have the name of the parameter, and the fields of an object their own.
  const exploded = isObject(value) ? all : all.map(named)
  const pairs = explode ? exploded : [named(all.join(','))]
  switch (style) {
    case 'deepObject':
      return given(value as object)
        .map(([field, each]) => `${encoded(`${name}[${field}]`)}=${one(each)}`)
        .join('&')
    case 'form':
      return pairs.join('&')
    case 'spaceDelimited':
      return named(all.join('%20'))
    case 'pipeDelimited':
      return named(all.join('%7C'))
    case 'label':
      return `.${all.join(explode ? '.' : ',')}`
    case 'matrix':
      return pairs.map((each) => `;${each}`).join('')
    default:
      return all.join(',')
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parts(value: unknown, explode: boolean, one: Write): string[] {
  if (Array.isArray(value)) return value.map(one)
  if (!isObject(value)) return [one(value)]
  return given(value).flatMap(([name, each]) =>
    explode ? `${one(name)}=${one(each)}` : [one(name), one(each)],
  )
}
