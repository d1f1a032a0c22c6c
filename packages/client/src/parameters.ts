// Serializes parameters by their `style` and `explode` (OpenAPI 3.1.1, section 4.8.12.6, after RFC 6570), as
// JSON, and as cookies.

import { encode } from './json.js'
import { dots, writePath } from './path.js'
import { writeRequestBody } from './request-body.js'
import { checkJson, elementsOf, memberAt, membersOf, replacement, type Sent, scalarText } from './sendable.js'
import { checkTexts, isObject, type Texts } from './styles.js'
import type { CalledOperation, ClientBody, ClientForm, ClientParameter } from './table.js'

/** The parameters of a request, by location. */
export interface ParameterValues {
  readonly path?: object | undefined
  readonly query?: object | undefined
  readonly header?: object | undefined
  readonly cookie?: object | undefined
}

type Location = keyof ParameterValues
type Called = Pick<CalledOperation, 'path' | 'divided' | 'rivals' | 'parameters' | 'schemas'>

/**
 * Writes the path of an operation with its parameters and query, and the headers, including the cookies.
 * @throws {TypeError} if a path parameter is missing, empty, `.` or `..`, so that the URL would belong to
 * another operation; or if a value cannot be sent unchanged
 */
export function writeParameters(
  operation: Called,
  values: ParameterValues,
): { readonly target: string; readonly headers: Record<string, string> } {
  const all = (location: Location) =>
    given(location, values[location] ?? {}).flatMap(([name, value]) => {
      const text = writeIn(operation, location, name, value)
      return text === undefined ? [] : [[name, text] as const]
    })
  const query = all('query').map(([, text]) => text)
  const cookies = all('cookie').map(([, text]) => text)
  const written = pathOf(operation, values.path)
  return {
    target: query.length > 0 ? `${written}?${query.join('&')}` : written,
    // Browsers ignore `Cookie` and send their own cookies.
    headers: {
      ...Object.fromEntries(all('header').map(([name, text]) => [name, headerText(name, text)])),
      ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
    },
  }
}

// Checked here, because Headers refuses these characters without saying where they are, and removes blanks
// (RFC 9110, section 5.5).
function headerText(name: string, text: string): string {
  const at = memberAt('header', name)
  if (/[^\t -~\x80-\xff]/.test(text)) throw new TypeError(`${at} has characters that a header cannot have`)
  if (/^[\t ]|[\t ]$/.test(text)) throw new TypeError(`${at} must not begin or end with a blank`)
  return text
}

function pathOf(operation: Called, values: object | undefined): string {
  const byName = new Map(given('path', values ?? {}))
  return writePath(operation, (name) => {
    const value = byName.get(name)
    checkPathValue(name, value, parameterOf(operation, 'path', name).form)
    return writeIn(operation, 'path', name, value) ?? ''
  })
}

const simple: ClientForm = { style: 'simple', explode: false }
const form: ClientForm = { style: 'form', explode: true }
const plain: Readonly<Record<Location, ClientForm>> = {
  path: simple,
  query: form,
  header: simple,
  cookie: form,
}

type WithForm = Pick<ClientParameter, 'numbers' | 'isFilled'> & { readonly form: ClientForm }

function parameterOf({ parameters = [] }: Called, location: Location, name: string): WithForm {
  const isIt = (each: ClientParameter) =>
    each.in === location && each.name.toLowerCase() === name.toLowerCase()
  return { form: plain[location], ...parameters.find(isIt) }
}

// Returns undefined for a value that has no text, and is absent to the service. The JSON of a `content`
// parameter is a single value in every location.
function writeIn(operation: Called, location: Location, name: string, value: unknown): string | undefined {
  const { form, numbers, isFilled = false } = parameterOf(operation, location, name)
  const places = numbers === undefined ? [] : [numbers]
  const sent = { at: memberAt(location, name), value, places, schemas: operation.schemas }
  const one = location === 'header' ? bare : form.style === 'cookie' ? cookieText : encoded
  if (form.style === 'json') return write(name, json(sent), plain[location], one)
  if (value === null && !isJson(form)) return absent(sent.at, 'null', isFilled)
  if (form.style === 'whole') return writeWhole(sent, form.body)
  const texts = textsOf(sent)
  if (hasNoText(location, form, texts)) return absent(sent.at, 'empty', isFilled)
  checkTexts(sent.at, texts, form, location)
  return write(name, texts, form, one)
}

function isJson({ style, body }: ClientForm): boolean {
  return style === 'whole' && (body === undefined || body.kind === 'json')
}

function absent(at: string, what: string, isFilled: boolean): undefined {
  if (isFilled) throw new TypeError(`${at} must not be ${what}: the service would take its default`)
}

// An exploded empty list has no pair; as a single pair, it would be a list with an empty text.
function hasNoText(location: Location, { style, explode }: ClientForm, texts: Texts): boolean {
  if (typeof texts === 'string' || Object.keys(texts).length > 0) return false
  if (location !== 'query' && location !== 'cookie') return false
  return !isObject(texts) || explode || style === 'deepObject'
}

// A form is already percent-encoded (OpenAPI 3.2, Parameter Locations).
function writeWhole({ at, value, schemas }: Sent, body: ClientBody | undefined): string {
  const { content } = writeRequestBody(value, body, schemas, at)
  return body?.kind === 'form' ? String(content) : encoded(String(content))
}

// Nothing is escaped in a cookie (OpenAPI 3.2, Style Values), so a character that would end the value cannot
// be sent.
const cookieText: Write = (text) => {
  if (/[^ -:<-~]/.test(text)) throw new TypeError(`a cookie cannot be ${text}: escape it`)
  return text
}

// The styles can write neither null nor a value within an element or a field.
function textsOf(sent: Sent): Texts {
  const { at, value } = sent
  const replaced = typeof value === 'object' && value !== null ? replacement(at, value) : value
  if (Array.isArray(replaced)) return elementsOf(sent, replaced).map(scalarText)
  if (typeof replaced !== 'object' || replaced === null) return scalarText({ ...sent, value: replaced })
  return Object.fromEntries(membersOf(sent, replaced).map((each) => [each.name, scalarText(each)]))
}

function checkPathValue(name: string, value: unknown, { style }: ClientForm): void {
  const isMissing = style === 'json' ? value === undefined || value === null : isEmpty(value)
  if (isMissing) throw new TypeError(`the path parameter ${name} must not be missing or empty`)
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (typeof only === 'string' && dots.test(only))
    throw new TypeError(`the path parameter ${name} must not be ${only}`)
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmpty)
  const isPlain = Object.prototype.toString.call(value) === '[object Object]'
  if (isPlain) return Object.values(value as object).every((each) => each === undefined || each === null)
  return value === undefined || value === null || value === ''
}

// Escapes JSON to ASCII, because headers allow nothing else.
function json(sent: Sent): string {
  checkJson(sent)
  return encode(sent.value).replace(
    /[^\x20-\x7e]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function given(location: Location, values: object): [name: string, value: unknown][] {
  const members = membersOf({ at: location, value: values, places: [], schemas: {} }, values)
  return members.map(({ name, value }) => [name, value])
}

type Write = (text: string) => string

const encoded: Write = encodeURIComponent

// Headers are not percent-encoded.
const bare: Write = (text) => text

function write(name: string, texts: Texts, { style, explode }: ClientForm, one: Write): string {
  const named = (text: string) => `${encoded(name)}=${text}`
  const dotless: Write = (each) => one(each).replaceAll('.', '%2E')
  const all = parts(texts, explode, style === 'label' && explode ? dotless : one)
  // Exploded, each element of a list has the name of the parameter, and each field of an object has its own.
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

function parts(texts: Texts, explode: boolean, one: Write): string[] {
  if (typeof texts === 'string') return [one(texts)]
  if (!isObject(texts)) return texts.map(one)
  return Object.entries(texts).flatMap(([name, each]) =>
    explode ? `${one(name)}=${one(each)}` : [one(name), one(each)],
  )
}
