// Deserializes the parameters of a request, cookies among them: which texts each has, and what they stand
// for.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import type { Content, Operation, Parameter, ParameterForm } from '../../document/contract.js'
import { isExplodedObject } from '../../document/exploded-object.js'
import type { Functions, Validator } from '../../document/functions.js'
import { jsonPointer } from '../../document/pointer.js'
import { kindOf } from '../../kinds/index.js'
import type { Parsed, Received } from '../../kinds/kind.js'
import { decode, decodedOrSent, nameIn, pairsOf, requestPath } from '../../lib/request-target.js'
import { literalPattern, splitPair } from '../../lib/texts.js'
import { errorAt, withPath } from '../../runtime/messages.js'
import { type Decode, once, parsed, readStyled, StyleError, toObject } from '../../runtime/styles.js'
import { decodeCookie, sentCookies } from './cookies.js'
import { exceptFor, invalidText, withoutBlanks } from './parameter-text.js'
import { queryOfParameters } from './query-keys.js'
import { type RequestPart, readCookies } from './request-parts.js'
import { noteErrors } from './request-validation.js'

type Values = Record<string, unknown>
type Sent = Map<string, string[]>
type StyledParameter = Parameter & { readonly form: ParameterForm }

/** A location of parameters (OpenAPI's `in`), and how to read them from a request. */
interface Location {
  readonly in: string
  readonly httpPart: RequestPart
  readonly decode: Decode
  /**
   * Returns a function that reads the undecoded values of each name, in a path those of the given parameters.
   */
  sent(parameters: readonly Parameter[], path: string): (request: FastifyRequest) => Sent
  /** Gives the request an object for the deserialized values. */
  values(request: FastifyRequest): Values
}

const locations: readonly Location[] = [
  {
    in: 'path',
    httpPart: 'params',
    decode: decodeURIComponent, // the router has refused a path that is not UTF-8
    sent: createSentInPath,
    values: ({ params }) => params as Values,
  },
  {
    in: 'query',
    httpPart: 'querystring',
    decode: decodedOrSent,
    sent: () => (request) => queryPairs(queryOfParameters(request)),
    values: (request) => Object.assign(request, { query: Object.create(null) as Values }).query,
  },
  {
    in: 'header',
    httpPart: 'headers',
    decode: withoutBlanks,
    sent:
      () =>
      ({ headers }) =>
        new Map(Object.entries(headers).map(([name, value]) => [name, [String(value)]])),
    // A copy: the server itself still reads the headers as they were sent.
    values: (request) => {
      const value: Values = Object.assign(Object.create(null), request.headers)
      Object.defineProperty(request, 'headers', { value })
      return value
    },
  },
  {
    in: 'cookie',
    httpPart: 'cookies',
    decode: cookieText,
    sent: () => sentCookies,
    values: (request) =>
      Object.assign(request, { [readCookies]: Object.create(null) as Values })[readCookies],
  },
]

/**
 * Creates the function that deserializes the parameters of a request, in place of what Fastify has parsed.
 * Undefined if the operation has only simple parameters, which Fastify parses correctly. Fastify validates
 * the others, but not cookies and JSON, whose validators are compiled here.
 * @param prefix of the operation's path in the URL: that of the application, and that of the contract
 */
export function createParameterReader(
  operation: Operation,
  prefix: string,
  functions: Functions,
): ((request: FastifyRequest) => void) | undefined {
  const styled = operation.parameters.filter((each): each is StyledParameter => each.form !== undefined)
  if (styled.length === 0) return undefined
  const { cookies } = operation.judges
  const validateCookies = cookies === undefined ? undefined : functions.validator(cookies)
  const readers = locations.flatMap((location) => {
    const here = styled.filter((each) => each.in === location.in)
    if (here.length === 0) return []
    const reads = here.map((each) => createRead(each, operation, location, functions))
    return { location, reads, sentIn: location.sent(here, prefix + operation.path) }
  })
  return (request) => {
    for (const { location, reads, sentIn } of readers) {
      const sent = sentIn(request)
      const values = location.values(request)
      const errors = reads.flatMap((read) => read(sent, values, request))
      // The rest are simple parameters, and unknown ones.
      if (location.in === 'query')
        for (const [name, texts] of sent) values[name] = oneOrList(texts.map(decodedOrSent))
      if (location.in === 'cookie' && validateCookies?.(values) === false) {
        errors.push(...exceptFor(validateCookies.explain(values), errors))
      }
      noteErrors(request, location.httpPart, errors)
    }
  }
}

// Like Fastify's query parser.
function oneOrList(texts: readonly string[]): unknown {
  return texts.length === 1 ? texts[0] : texts
}

type Read = (sent: Sent, values: Values, request: FastifyRequest) => ErrorObject[]

// Removes a parameter's texts from `sent`, and adds its value to `values`.
function createRead(
  parameter: StyledParameter,
  { parameters }: Operation,
  location: Location,
  functions: Functions,
): Read {
  const { form, judge } = parameter
  const validate = judge === undefined ? undefined : functions.validator(judge)
  if (form.content !== undefined) return createReadWhole(parameter, form.content, validate)
  const name = location.in === 'header' ? parameter.name.toLowerCase() : parameter.name
  const fieldOf = createFieldOf(parameter, parameters)
  const coded = form.style === 'cookie' ? { ...location, decode: withoutBlanks } : location
  return (sent, values) => {
    try {
      const given = fieldOf ? readFields(sent, fieldOf, coded.decode) : readOne(sent, name, form, coded)
      const value = given === undefined ? absentValue(parameter) : given
      if (value === undefined) return []
      values[name] = value
    } catch (error) {
      if (!(error instanceof StyleError)) throw error
      values[name] = '' // present, so that it is not reported as missing, too
      return [errorAt([name, ...error.path], error.message)]
    }
    return validate === undefined ? [] : errorsOf(validate, name, values)
  }
}

// The whole query, with nothing of it left to other parameters.
function createReadWhole({ name }: Parameter, content: Content, validate: Validator | undefined): Read {
  const { received } = kindOf(content)
  if (received === undefined) throw new Error(`${name}: ${content.mediaType} is not received`)
  return (sent, values, request) => {
    sent.clear()
    const text = queryOfParameters(request)
    if (text === '') return []
    try {
      const { value, faults } = readWhole(text, received, content)
      values[name] = value
      const found = faults.map((each) => withPath(each, (path) => jsonPointer([name]) + path))
      return [...found, ...(validate === undefined ? [] : exceptFor(errorsOf(validate, name, values), found))]
    } catch (error) {
      if (!(error instanceof StyleError)) throw error
      values[name] = ''
      return [errorAt([name], error.message)]
    }
  }
}

// Of a form, `+` is a blank (OpenAPI 3.2, URL Percent-Encoding).
function readWhole(text: string, { read, query }: Received, content: Content): Parsed {
  const readText = (whole: string) => parsed(whole, (bytes) => read(bytes, content, content.mediaType))
  if (query === 'encoded') return readText(text)
  const decoded = decode(text.replaceAll('+', '%2B'))
  if (decoded === undefined || decoded.includes('\0')) throw new StyleError(invalidText)
  return readText(decoded)
}

// The schema of a JSON parameter is not part of the schema that Ajv takes defaults from.
function absentValue({ form, required, schema }: StyledParameter): unknown {
  if (form.style === 'json') return structuredClone(schema.default)
  return isExplodedObject(form) && required ? toObject([]) : undefined
}

// With its parent: the validator replaces numbers by exact ones there.
function errorsOf(validate: Validator, name: string, values: Values): ErrorObject[] {
  const parent = { parentData: values, parentDataProperty: name, rootData: values }
  if (validate(values[name], { ...parent, instancePath: '', dynamicAnchors: {} })) return []
  return validate.explain(values[name]).map((each) => withPath(each, (path) => jsonPointer([name]) + path))
}

// For an object whose fields are sent as separate parameters: returns the field of a parameter's name.
function createFieldOf(
  { name, in: location, form }: StyledParameter,
  parameters: readonly Parameter[],
): ((sentName: string) => string | undefined) | undefined {
  if (form.style === 'deepObject') {
    return (sentName) =>
      sentName.startsWith(`${name}[`) ? /^\[([^[\]]+)\]$/.exec(sentName.slice(name.length))?.[1] : undefined
  }
  if (!isExplodedObject(form)) return undefined
  const others = parameters.filter((each) => each.in === location && each.name !== name)
  const taken = new Set(
    others.flatMap((each) => (isExplodedObject(each.form) ? each.form.names : [each.name])),
  )
  return (sentName) => {
    const isOther = location === 'query' && form.allowsAdditional && !taken.has(sentName)
    const isField = form.names.includes(sentName) || isOther
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
    if (others.length > 0) throw new StyleError(once, [name])
    fields.push([name, decode(text)])
  }
  return fields.length > 0 ? toObject(fields) : undefined
}

function readOne(sent: Sent, name: string, form: ParameterForm, location: Location): unknown {
  const texts = sent.get(name)
  sent.delete(name)
  if (texts === undefined || (form.allowEmptyValue && texts.every((each) => each === ''))) return undefined
  const { style, explode, shape } = form
  const isExploded = (style === 'form' || style === 'cookie') && explode
  if (isExploded && shape === 'array') return texts.map(location.decode)
  if (isExploded && shape === 'primitiveOrArray') return oneOrList(texts.map(location.decode))
  const [text = '', ...others] = texts
  if (others.length > 0) throw new StyleError(once)
  return readStyled(text, name, form, location.decode, location.in === 'header')
}

// Finds each parameter in its path segment, without the text around it, any character of which may be
// percent-encoded.
function createSentInPath(
  parameters: readonly Parameter[],
  template: string,
): (request: FastifyRequest) => Sent {
  const finders = parameters.map(({ name }) => {
    const segments = template.split('/')
    const index = segments.findIndex((segment) => segment.includes(`{${name}}`))
    const [before = '', after = ''] = (segments[index] ?? '').split(`{${name}}`)
    return { name, index, pattern: new RegExp(`^${encodable(before)}(.*)${encodable(after)}$`, 'is') }
  })
  return ({ url }) => {
    const segments = requestPath(url).split('/')
    return new Map(
      finders.map(({ name, index, pattern }) => [name, [pattern.exec(segments[index] ?? '')?.[1] ?? '']]),
    )
  }
}

function encodable(text: string): string {
  const letters = [...text].map((letter) => {
    const encoded = [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    return `(?:${literalPattern(letter)}|${encoded})`
  })
  return letters.join('')
}

function queryPairs(query: string): Sent {
  const sent: Sent = new Map()
  for (const pair of pairsOf(query)) {
    const [, value] = splitPair(pair)
    const name = nameIn(pair)
    const others = sent.get(name)
    if (others === undefined) sent.set(name, [value])
    else others.push(value)
  }
  return sent
}

function cookieText(sent: string): string {
  const text = decodeCookie(sent)
  if (text === undefined) throw new StyleError(invalidText)
  return text
}
