// Serializes parameters by their `style` and `explode` (OpenAPI 3.1.1, section 4.8.12.6, after RFC 6570),
// JSON and cookies.

import { encode } from './json.js'
import { writeRequestBody } from './request-body.js'
import { checkJson, elementsOf, memberAt, membersOf, replacement, type Sent, scalarText } from './sendable.js'
import type { CalledOperation, ClientBody, ClientForm, ClientParameter } from './table.js'

/** The parameters of a request, by location. */
export interface ParameterValues {
  readonly path?: object | undefined
  readonly query?: object | undefined
  readonly header?: object | undefined
  readonly cookie?: object | undefined
}

type Location = keyof ParameterValues
type Called = Pick<CalledOperation, 'path' | 'parameters' | 'schemas'>

/**
 * Writes the path of an operation with its parameters and query, and the headers with the cookies.
 * @throws {TypeError} if a path parameter is missing, empty, `.` or `..`: the URL would be another
 * operation's; or if a value cannot be sent as it is
 */
export function writeParameters(
  operation: Called,
  values: ParameterValues,
): { readonly target: string; readonly headers: Record<string, string> } {
  const all = (location: Location) =>
    given(location, values[location] ?? {}).map(
      ([name, value]) => [name, writeIn(operation, location, name, value)] as const,
    )
  const query = all('query').flatMap(([, text]) => (text === '' ? [] : text))
  const cookies = all('cookie').map(([, text]) => text)
  const written = writePath(operation, values.path)
  return {
    target: query.length > 0 ? `${written}?${query.join('&')}` : written,
    // Browsers ignore this header and send their own cookies.
    headers: {
      ...Object.fromEntries(all('header').map(([name, text]) => [name, headerText(name, text)])),
      ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
    },
  }
}

// Headers refuses these characters without saying where they are, and removes the blanks (RFC 9110, section
// 5.5).
function headerText(name: string, text: string): string {
  const at = memberAt('header', name)
  if (/[^\t -~\x80-\xff]/.test(text)) throw new TypeError(`${at} has characters that a header cannot have`)
  if (/^[\t ]|[\t ]$/.test(text)) throw new TypeError(`${at} must not begin or end with a blank`)
  return text
}

function writePath(operation: Called, values: object | undefined): string {
  const byName = new Map(given('path', values ?? {}))
  const written = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = byName.get(name)
    checkPathValue(name, value, parameterOf(operation, 'path', name).form)
    return writeIn(operation, 'path', name, value)
  })
  checkSegments(written)
  return written
}

const simple: ClientForm = { style: 'simple', explode: false }
const form: ClientForm = { style: 'form', explode: true }
const plain: Readonly<Record<Location, ClientForm>> = {
  path: simple,
  query: form,
  header: simple,
  cookie: form,
}

type WithForm = Pick<ClientParameter, 'numbers'> & { readonly form: ClientForm }

function parameterOf({ parameters = [] }: Called, location: Location, name: string): WithForm {
  const isIt = (each: ClientParameter) =>
    each.in === location && each.name.toLowerCase() === name.toLowerCase()
  return { form: plain[location], ...parameters.find(isIt) }
}

// The JSON of a `content` parameter is a single value, in every location.
function writeIn(operation: Called, location: Location, name: string, value: unknown): string {
  const { form, numbers } = parameterOf(operation, location, name)
  const places = numbers === undefined ? [] : [numbers]
  const sent = { at: memberAt(location, name), value, places, schemas: operation.schemas }
  if (form.style === 'whole') return writeWhole(sent, form.body)
  const one = location === 'header' ? bare : form.style === 'cookie' ? cookieText : encoded
  return form.style === 'json'
    ? write(name, json(sent), plain[location], one)
    : write(name, textsOf(sent), form, one)
}

// A form is percent-encoded by itself (OpenAPI 3.2, Parameter Locations).
function writeWhole({ at, value, schemas }: Sent, body: ClientBody | undefined): string {
  const { content } = writeRequestBody(value, body, schemas, at)
  return body?.kind === 'form' ? String(content) : encoded(String(content))
}

// Nothing is escaped (OpenAPI 3.2, Style Values), so what would end the value cannot be sent.
const cookieText: Write = (text) => {
  if (/[^ -:<-~]/.test(text)) throw new TypeError(`a cookie cannot be ${text}: escape it`)
  return text
}

// The styles have no form for a value within an element or a field.
function textsOf(sent: Sent): Texts {
  const { at, value } = sent
  const replaced = typeof value === 'object' && value !== null ? replacement(at, value) : value
  const isAbsent = ({ value }: Sent) => value === undefined || value === null
  // RFC 6570, section 2.3: undefined elements are left out.
  if (Array.isArray(replaced))
    return elementsOf(sent, replaced).flatMap((each) => (isAbsent(each) ? [] : scalarText(each)))
  if (typeof replaced !== 'object' || replaced === null) return scalarText({ ...sent, value: replaced })
  const members = membersOf(sent, replaced).filter((each) => !isAbsent(each))
  return Object.fromEntries(members.map((each) => [each.name, scalarText(each)]))
}

// A URL has no such segments: parsers remove them with the one before, also percent-encoded.
const dots = /^(\.|%2e){1,2}$/i

function checkPathValue(name: string, value: unknown, { style }: ClientForm): void {
  const isMissing = style === 'json' ? value === undefined : isEmpty(value)
  if (isMissing) throw new TypeError(`the path parameter ${name} must not be missing or empty`)
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (typeof only === 'string' && dots.test(only))
    throw new TypeError(`the path parameter ${name} must not be ${only}`)
}

// A list may be written as dots, too, without its undefined elements.
function checkSegments(path: string): void {
  const segment = path.split('/').find((each) => dots.test(each))
  if (segment !== undefined) throw new TypeError(`the path ${path} must not contain the segment ${segment}`)
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmpty)
  const isPlain = Object.prototype.toString.call(value) === '[object Object]'
  if (isPlain) return Object.values(value as object).every((each) => each === undefined || each === null)
  return value === undefined || value === null || value === ''
}

// Escaped to ASCII, because headers allow nothing else.
function json(sent: Sent): string {
  checkJson(sent)
  return encode(sent.value).replace(
    /[^\x20-\x7e]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function given(location: Location, values: object): [name: string, value: unknown][] {
  const members = membersOf({ at: location, value: values, places: [], schemas: {} }, values)
  return members.flatMap(({ name, value }) => (value === null ? [] : [[name, value]]))
}

type Texts = string | readonly string[] | Readonly<Record<string, string>>
type Write = (text: string) => string

const encoded: Write = encodeURIComponent

// Headers are not percent-encoded.
const bare: Write = (text) => text

function write(name: string, texts: Texts, { style, explode }: ClientForm, one: Write): string {
  const named = (text: string) => `${encoded(name)}=${text}`
  const dotless: Write = (each) => one(each).replaceAll('.', '%2E')
  const all = parts(texts, explode, style === 'label' && explode ? dotless : one)
  // Exploded, the elements of a list have the name of the parameter, and the fields of an object their own.
  const exploded = isObject(texts) ? all : all.map(named)
  const pairs = explode ? exploded : [named(all.join(','))]
  switch (style) {
    case 'deepObject':
      return Object.entries(texts)
        .map(([field, each]) => `${encoded(`${name}[${field}]`)}=${one(each)}`)
        .join('&')
    case 'form':
      return pairs.join('&')
    case 'cookie':
      return pairs.join('; ')
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

function isObject(texts: Texts): texts is Readonly<Record<string, string>> {
  return typeof texts === 'object' && !Array.isArray(texts)
}

function parts(texts: Texts, explode: boolean, one: Write): string[] {
  if (typeof texts === 'string') return [one(texts)]
  if (!isObject(texts)) return texts.map(one)
  return Object.entries(texts).flatMap(([name, each]) =>
    explode ? `${one(name)}=${one(each)}` : [one(name), one(each)],
  )
}
