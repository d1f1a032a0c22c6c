// Parameters that are more than one text by its name: `style`, `explode` and `content` of OpenAPI 3.1.1 (sections 4.8.12.2
// to 4.8.12.6, after RFC 6570), and cookies. They are taken apart as they were sent, for a delimiter that is encoded
// belongs to a value; what comes of it is validated like the others.

import type { ErrorObject, ValidateFunction } from 'ajv'
import type { FastifyRequest } from 'fastify'
import { isExplodedObject } from '../contract/parameters.js'
import type { Operation, Parameter, ParameterForm } from '../contract/types.js'
import { ApiError } from '../errors.js'
import { requestPath } from '../http/request-path.js'
import { parseJson } from '../schemas/json.js'
import { fault } from '../schemas/messages.js'
import { decode, queryOf, invalidText, exceptFor } from './parameter-text.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Those that the operation declares. */
    cookies?: object | undefined
    /** What was found wrong with parameters before they were validated. */
    parameterErrors?: ParameterErrors | undefined
  }
}

/** By the part of the request, in the form of Ajv's errors. */
export type ParameterErrors = Partial<Record<string, ErrorObject[]>>

type Values = Record<string, unknown>
type Sent = Map<string, string[]>
type Decode = (text: string) => string
type Formed = Parameter & { readonly form: ParameterForm }

/** Where parameters stand, and how they are had from there. */
interface Place {
  readonly in: string
  readonly httpPart: string
  readonly decode: Decode
  /** What finds the texts of each name, as they were sent. */
  sent(operation: Operation, prefix: string): (request: FastifyRequest) => Sent
  /** What the parameters are put into. */
  values(request: FastifyRequest): Values
  put(request: FastifyRequest, values: Values): void
}

const places: readonly Place[] = [
  {
    in: 'path',
    httpPart: 'params',
    decode: decodeURIComponent, // the router has refused what is no UTF-8
    sent: ({ path, parameters }, prefix) => createSentInPath(prefix + path, parameters),
    values: ({ params }) => params as Values,
    put: () => {},
  },
  {
    in: 'query',
    httpPart: 'querystring',
    decode: decodeQuery,
    sent:
      () =>
      ({ url }) =>
        readPairs(queryOf(url), '&', decodeQuery),
    values: () => Object.create(null),
    put: (request, query) => Object.assign(request, { query }),
  },
  {
    in: 'header',
    httpPart: 'headers',
    decode: (text) => text.trim(),
    sent:
      () =>
      ({ headers }) =>
        new Map(Object.entries(headers).map(([name, value]) => [name, [String(value)]])),
    // A copy: the server itself goes on to read headers as they were sent.
    values: ({ headers }) => Object.assign(Object.create(null), headers),
    put: (request, headers) => Object.defineProperty(request, 'headers', { value: headers }),
  },
  {
    in: 'cookie',
    httpPart: 'cookies',
    decode: decodeCookie,
    sent:
      () =>
      ({ headers }) =>
        readPairs(headers.cookie ?? '', ';', (text) => text.trim()),
    values: () => Object.create(null),
    put: (request, cookies) => Object.assign(request, { cookies }),
  },
]

/** Compiled from the contract: of a parameter's JSON, and of all cookies. */
export interface Validators {
  readonly json: (parameter: Parameter) => ValidateFunction
  readonly cookies: ValidateFunction | undefined
}

/** What reads an operation's parameters anew, from what was sent; undefined where all of them are plain. */
export function createParameterReader(
  operation: Operation,
  prefix: string,
  { json, cookies }: Validators,
): ((request: FastifyRequest) => void) | undefined {
  const formed = operation.parameters.filter((each): each is Formed => each.form !== undefined)
  if (formed.length === 0) return undefined
  const readers = places.flatMap((place) => {
    const here = formed.filter((each) => each.in === place.in)
    if (here.length === 0) return []
    const reads = here.map((each) => createRead(each, operation, place, json))
    return { place, reads, sentIn: place.sent(operation, prefix) }
  })
  return (request) => {
    const parameterErrors: ParameterErrors = {}
    for (const { place, reads, sentIn } of readers) {
      const sent = sentIn(request)
      const values = place.values(request)
      const errors = reads.flatMap((read) => read(sent, values))
      // Plain ones, and those that the contract does not know.
      if (place.in === 'query')
        for (const [name, texts] of sent) values[name] = plainly(texts.map(decodeQuery))
      if (place.in === 'cookie' && cookies?.(values) === false) {
        errors.push(...exceptFor(cookies.errors ?? [], errors))
      }
      place.put(request, values)
      if (errors.length > 0) parameterErrors[place.httpPart] = errors
    }
    if (Object.keys(parameterErrors).length > 0) request.parameterErrors = parameterErrors
  }
}

// As the query parser has them.
function plainly(texts: readonly string[]): unknown {
  return texts.length === 1 ? texts[0] : texts
}

type Read = (sent: Sent, values: Values) => ErrorObject[]

// Takes a parameter's texts out of what was sent, and puts its value among the others.
function createRead(
  parameter: Formed,
  { parameters }: Operation,
  place: Place,
  json: Validators['json'],
): Read {
  const { form } = parameter
  const name = place.in === 'header' ? parameter.name.toLowerCase() : parameter.name
  const validate = form.style === 'json' ? json(parameter) : undefined
  const fieldOf = createFieldOf(parameter, parameters)
  return (sent, values) => {
    try {
      const given = fieldOf ? readFields(sent, fieldOf, place.decode) : readOne(sent, name, form, place)
      // Of JSON, whose schema does not stand among the others.
      const value = given === undefined && validate ? structuredClone(parameter.schema.default) : given
      if (value !== undefined) values[name] = value
      else if (isExplodedObject(form) && parameter.required) values[name] = toObject([])
      else return []
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      values[name] = '' // it is not missing
      return [fault([name, ...error.path], error.message)]
    }
    if (validate === undefined) return []
    // In its place, for a validator puts exact numbers there.
    const instancePath = fault([name], '').instancePath
    const context = {
      instancePath,
      parentData: values,
      parentDataProperty: name,
      rootData: values,
      dynamicAnchors: {},
    }
    return validate(values[name], context) ? [] : (validate.errors ?? [])
  }
}

/** What is wrong with how a parameter is written. */
class FormError extends Error {
  constructor(
    message: string,
    readonly path: readonly string[] = [],
  ) {
    super(message)
  }
}

const once = 'must be given once'

// Of an object whose fields are parameters of their own: the field that a name stands for.
function createFieldOf(
  { name, form }: Formed,
  parameters: readonly Parameter[],
): ((sentName: string) => string | undefined) | undefined {
  if (form.style === 'deepObject') {
    return (sentName) =>
      sentName.startsWith(`${name}[`) ? /^\[([^[\]]+)\]$/.exec(sentName.slice(name.length))?.[1] : undefined
  }
  if (!isExplodedObject(form)) return undefined
  const others = parameters.filter((each) => each.in === 'query' && each.name !== name)
  const taken = new Set(
    others.flatMap((each) => (isExplodedObject(each.form) ? each.form.names : [each.name])),
  )
  return (sentName) => {
    const isField = form.names.includes(sentName) || (form.takesOthers && !taken.has(sentName))
    return isField ? sentName : undefined
  }
}

function readFields(
  sent: Sent,
  fieldOf: (sentName: string) => string | undefined,
  decode: Decode,
): Values | undefined {
  const fields: [name: string, value: string][] = []
  for (const [sentName, [text = '', ...others]] of sent) {
    const name = fieldOf(sentName)
    if (name === undefined) continue
    sent.delete(sentName)
    if (others.length > 0) throw new FormError(once, [name])
    fields.push([name, decode(text)])
  }
  return fields.length > 0 ? toObject(fields) : undefined
}

function readOne(sent: Sent, name: string, form: ParameterForm, place: Place): unknown {
  const texts = sent.get(name)
  sent.delete(name)
  if (texts === undefined || (form.isEmptyAbsent && texts.every((each) => each === ''))) return undefined
  const { style, explode, shape } = form
  if (style === 'form' && explode && shape === 'list') return texts.map(place.decode)
  if (style === 'form' && explode && shape === 'textOrList') return plainly(texts.map(place.decode))
  const [text = '', ...others] = texts
  if (others.length > 0) throw new FormError(once)
  return readText(text, name, form, place)
}

function readText(text: string, name: string, form: ParameterForm, { in: location, decode }: Place): unknown {
  const { style, explode, shape } = form
  switch (style) {
    case 'json':
      return readJson(decode(text))
    case 'label':
      if (!text.startsWith('.')) throw new FormError('must begin with a dot')
      return readParts(text.slice(1), explode ? '.' : ',', form, decode)
    case 'matrix':
      return readMatrix(text, name, form, decode)
    case 'spaceDelimited':
      return readParts(text, /%20|\+/, form, decode)
    case 'pipeDelimited':
      return readParts(text, /\||%7C/i, form, decode)
    default:
      // RFC 9110, section 5.6.1.2: empty elements of a list in a header are none.
      if (location === 'header' && shape === 'list')
        return text
          .split(',')
          .map(decode)
          .filter((each) => each !== '')
      return readParts(text, ',', form, decode)
  }
}

// Between delimiters: elements, or an object's names and values, in turn or each with its own.
function readParts(
  text: string,
  delimiter: string | RegExp,
  { shape, explode }: ParameterForm,
  decode: Decode,
): unknown {
  if (shape === 'text') return decode(text)
  const parts = text.split(delimiter)
  if (shape === 'list') return parts.map(decode)
  if (text === '') return toObject([])
  return toObject(explode ? parts.map((part) => readField(part, decode)) : pairsOf(parts.map(decode)))
}

function readField(text: string, decode: Decode): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 0) throw new FormError('must be fields, each written name=value')
  return [decode(text.slice(0, at)), decode(text.slice(at + 1))]
}

function pairsOf(texts: readonly string[]): [name: string, value: string][] {
  if (texts.length % 2 > 0) throw new FormError('must be names and values in turn')
  return texts.flatMap((name, index) => (index % 2 > 0 ? [] : [[name, texts[index + 1] ?? '']]))
}

// RFC 6570, section 3.2.7: each part has a name, and no equals sign where it is empty.
function readMatrix(text: string, name: string, form: ParameterForm, decode: Decode): unknown {
  const { explode, shape } = form
  const fields = text
    .split(';')
    .slice(1)
    .map((part) => /^([^=]*)=?(.*)$/s.exec(part) ?? [])
    .map(([, field = '', value = '']): [string, string] => [decode(field), value])
  if (explode && shape === 'object' && text.startsWith(';')) {
    return toObject(fields.map(([field, value]) => [field, decode(value)]))
  }
  if (!text.startsWith(';') || fields.some(([field]) => field !== name)) {
    throw new FormError(`must be written ;${name}=…`)
  }
  if (explode && shape === 'list') return fields.map(([, value]) => decode(value))
  if (fields.length > 1) throw new FormError(once)
  return readParts(fields[0]?.[1] ?? '', ',', form, decode)
}

// Without a prototype, as the framework's own: no name is special.
function toObject(fields: readonly (readonly [name: string, value: string])[]): Values {
  const object: Values = Object.create(null)
  for (const [name, value] of fields) {
    if (name in object) throw new FormError(once, [name])
    object[name] = value
  }
  return object
}

function readJson(text: string): unknown {
  try {
    return parseJson(Buffer.from(text))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new FormError(error.message.replace(/^The body /, '').replace(/\.$/, ''))
  }
}

// A segment without the text around its parameter, any letter of which may have been sent encoded.
function createSentInPath(
  template: string,
  parameters: readonly Parameter[],
): (request: FastifyRequest) => Sent {
  const formed = parameters.filter((each) => each.in === 'path' && each.form !== undefined)
  const finders = formed.map(({ name }) => {
    const segments = template.split('/')
    const index = segments.findIndex((segment) => segment.includes(`{${name}}`))
    const [before = '', after = ''] = (segments[index] ?? '').split(`{${name}}`)
    return { name, index, pattern: new RegExp(`^${anyhow(before)}(.*)${anyhow(after)}$`, 'is') }
  })
  return ({ url }) => {
    const segments = requestPath(url).split('/')
    return new Map(
      finders.map(({ name, index, pattern }) => [name, [pattern.exec(segments[index] ?? '')?.[1] ?? '']]),
    )
  }
}

function anyhow(text: string): string {
  const letters = [...text].map((letter) => {
    const encoded = [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    return `(?:${letter.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}|${encoded})`
  })
  return letters.join('')
}

function readPairs(text: string, delimiter: string, decodeName: Decode): Sent {
  const sent: Sent = new Map()
  for (const pair of text.split(delimiter)) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decodeName(at < 0 ? pair : pair.slice(0, at))
    const value = at < 0 ? '' : pair.slice(at + 1)
    const others = sent.get(name)
    if (others === undefined) sent.set(name, [value])
    else others.push(value)
  }
  return sent
}

// What cannot be decoded is left as it is, and reported with the others.
function decodeQuery(text: string): string {
  return decode(text) ?? text
}

function decodeCookie(text: string): string {
  try {
    const decoded = decodeURIComponent(text.trim())
    if (!decoded.includes('\0')) return decoded
  } catch {}
  throw new FormError(invalidText)
}
