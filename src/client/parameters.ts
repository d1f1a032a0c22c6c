// Serializes parameters by their `style` and `explode` (OpenAPI 3.1.1, section 4.8.12.6, after RFC 6570),
// JSON and cookies.

import { encode } from './json.js'
import type { ClientOperation, ClientParameter } from './table.js'

type Form = Pick<ClientParameter, 'style' | 'explode'>

/** The parameters of a request, by location. */
export interface ParameterValues {
  readonly path?: object | undefined
  readonly query?: object | undefined
  readonly header?: object | undefined
  readonly cookie?: object | undefined
}

type Location = keyof ParameterValues
type Declared = readonly ClientParameter[]

/**
 * Writes the path of an operation with its parameters and query, and the headers with the cookies.
 * @throws {TypeError} if a path parameter is missing, empty, `.` or `..`: the URL would be another
 * operation's
 */
export function writeParameters(
  { path, parameters = [] }: Pick<ClientOperation, 'path' | 'parameters'>,
  values: ParameterValues,
): { readonly target: string; readonly headers: Record<string, string> } {
  const all = (location: Location) =>
    given(values[location]).map(
      ([name, value]) => [name, writeIn(parameters, location, name, value)] as const,
    )
  const query = all('query').flatMap(([, text]) => (text === '' ? [] : text))
  const cookies = all('cookie').map(([, text]) => text)
  const written = writePath(path, parameters, values.path)
  return {
    target: query.length > 0 ? `${written}?${query.join('&')}` : written,
    // Browsers ignore this header and send their own cookies.
    headers: {
      ...Object.fromEntries(all('header')),
      ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
    },
  }
}

function writePath(path: string, parameters: Declared, values: object | undefined): string {
  const byName = new Map(given(values))
  const written = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = byName.get(name)
    checkPathValue(name, value, formOf(parameters, 'path', name))
    return writeIn(parameters, 'path', name, value)
  })
  checkSegments(written)
  return written
}

const simple: Form = { style: 'simple', explode: false }
const form: Form = { style: 'form', explode: true }
const plain: Readonly<Record<Location, Form>> = { path: simple, query: form, header: simple, cookie: form }

function formOf(parameters: Declared, location: Location, name: string): Form {
  const isIt = (each: ClientParameter) =>
    each.in === location && each.name.toLowerCase() === name.toLowerCase()
  return parameters.find(isIt) ?? plain[location]
}

// The JSON of a `content` parameter is a single value, in every location.
function writeIn(parameters: Declared, location: Location, name: string, value: unknown): string {
  const its = formOf(parameters, location, name)
  const one = location === 'header' ? bare : encoded
  return its.style === 'json' ? write(name, json(value), plain[location], one) : write(name, value, its, one)
}

// A URL has no such segments: parsers remove them with the one before, also percent-encoded.
const dots = /^(\.|%2e){1,2}$/i

function checkPathValue(name: string, value: unknown, { style }: Form): void {
  const isMissing = style === 'json' ? value === undefined : isEmpty(value)
  if (isMissing) throw new TypeError(`the path parameter ${name} must not be missing or empty`)
  if (dots.test(String(value))) throw new TypeError(`the path parameter ${name} must not be ${value}`)
}

// A list may be written as dots, too, without its undefined elements.
function checkSegments(path: string): void {
  const segment = path.split('/').find((each) => dots.test(each))
  if (segment !== undefined) throw new TypeError(`the path ${path} must not contain the segment ${segment}`)
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmpty)
  if (isObject(value)) return given(value).length === 0
  return value === undefined || value === null || value === ''
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
  // RFC 6570, section 2.3: undefined elements are left out.
  if (Array.isArray(value)) return value.filter((each) => each !== undefined && each !== null).map(one)
  if (!isObject(value)) return [one(value)]
  return given(value).flatMap(([name, each]) =>
    explode ? `${one(name)}=${one(each)}` : [one(name), one(each)],
  )
}
