// Deserializes the parameters of a request, including cookies: finds the texts of each parameter, and reads
// its value from them.

import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import type { Content, Operation, Parameter, ParameterForm } from '../../document/contract.js'
import type { Functions, Validator } from '../../document/functions.js'
import { partNames, type RequestPart, requestParts } from '../../document/part-names.js'
import { jsonPointer } from '../../document/pointer.js'
import { kindOf } from '../../kinds/index.js'
import { noFaults, type Parsed } from '../../kinds/kind.js'
import { decode, decodedOrSent, nameIn, pairsOf, requestPath } from '../../lib/request-target.js'
import { literalPattern, splitPair, textsByName } from '../../lib/texts.js'
import { errorAt, withPath } from '../../runtime/messages.js'
import {
  type Decode,
  oneOrList,
  parsed,
  readStyled,
  type Sent,
  StyleError,
  toObject,
} from '../../runtime/styles.js'
import { decodeCookie, sentCookies } from './cookies.js'
import { exceptFor, invalidText, withoutBlanks } from './parameter-text.js'
import { queryOfParameters } from './query-keys.js'
import { readCookies } from './request-parts.js'
import { noteErrors } from './request-validation.js'

type Values = Record<string, unknown>
type StyledParameter = Parameter & { readonly form: ParameterForm }

/** Reads the parameters of a part of a request. */
interface Part {
  readonly decode: Decode
  /** Returns a function that reads undecoded values by name; in a path, those of the given parameters. */
  sent(parameters: readonly Parameter[], path: string): (request: FastifyRequest) => Sent
  /** Gives the request a new object for the deserialized values. */
  values(request: FastifyRequest): Values
}

const parts: Readonly<Record<Exclude<RequestPart, 'body'>, Part>> = {
  params: {
    decode: decodeURIComponent, // the router has refused a path that is not UTF-8
    sent: createSentInPath,
    values: ({ params }) => params as Values,
  },
  querystring: {
    decode: decodedOrSent,
    sent: () => (request) => queryPairs(queryOfParameters(request)),
    values: (request) => Object.assign(request, { query: Object.create(null) as Values }).query,
  },
  headers: {
    decode: withoutBlanks,
    sent:
      () =>
      ({ headers }) =>
        new Map(Object.entries(headers).map(([name, value]) => [name, [String(value)]])),
    // A copy, because the server still reads the headers as they were sent.
    values: (request) => {
      const value: Values = Object.assign(Object.create(null), request.headers)
      Object.defineProperty(request, 'headers', { value })
      return value
    },
  },
  cookies: {
    decode: cookieText,
    sent: () => sentCookies,
    values: (request) =>
      Object.assign(request, { [readCookies]: Object.create(null) as Values })[readCookies],
  },
}

/**
 * Creates the function that deserializes the parameters of a request, and replaces the values that Fastify
 * has parsed. Returns undefined if all parameters are simple, since Fastify parses those correctly. Fastify
 * validates most of the results; cookies and JSON are validated here.
 * @param prefix the application's prefix and the contract's, which precede the operation's path in the URL
 */
export function createParameterReader(
  { parameters, judges, path }: Operation,
  prefix: string,
  functions: Functions,
): ((request: FastifyRequest) => void) | undefined {
  const styled = parameters.filter((each): each is StyledParameter => each.form !== undefined)
  if (styled.length === 0) return undefined
  const { cookies } = judges
  const validateCookies = cookies === undefined ? undefined : functions.validator(cookies)
  const readers = requestParts.flatMap((httpPart) => {
    const here = styled.filter((each) => each.in === partNames[httpPart])
    if (httpPart === 'body' || here.length === 0) return []
    const { decode, sent, values } = parts[httpPart]
    const reads = here.map((each) => createRead(each, decode, functions))
    return { httpPart, reads, sentIn: sent(here, prefix + path), valuesOf: values }
  })
  return (request) => {
    for (const { httpPart, reads, sentIn, valuesOf } of readers) {
      const sent = sentIn(request)
      const values = valuesOf(request)
      const errors = reads.flatMap((read) => read(sent, values, request))
      // The rest of the query: simple parameters, and unknown ones.
      if (httpPart === 'querystring')
        for (const [name, texts] of sent) values[name] = oneOrList(texts.map(decodedOrSent))
      if (httpPart === 'cookies' && validateCookies?.(values) === false) {
        errors.push(...exceptFor(validateCookies.explain(values), errors))
      }
      noteErrors(request, httpPart, errors)
    }
  }
}

type Read = (sent: Sent, values: Values, request: FastifyRequest) => ErrorObject[]

// Removes a parameter's texts from `sent`, and adds its value to `values`.
function createRead(
  { key, judge, ...parameter }: StyledParameter,
  decode: Decode,
  functions: Functions,
): Read {
  const validate = judge === undefined ? undefined : functions.validator(judge)
  const read = createReadValue(key, parameter, decode)
  return (sent, values, request) => {
    try {
      const { value, faults } = read(sent, request)
      if (value === undefined) return []
      values[key] = value
      const found = faults.map((each) => withPath(each, (path) => jsonPointer([key]) + path))
      return [...found, ...(validate === undefined ? [] : exceptFor(errorsOf(validate, key, values), found))]
    } catch (error) {
      if (!(error instanceof StyleError)) throw error
      values[key] = '' // present, so that it is not reported as missing as well
      return [errorAt([key, ...error.path], error.message)]
    }
  }
}

function createReadValue(
  key: string,
  { form, required, schema }: Omit<StyledParameter, 'key' | 'judge'>,
  decode: Decode,
): (sent: Sent, request: FastifyRequest) => Parsed {
  const { content, read, style } = form
  if (content !== undefined) return createReadWhole(content)
  const decodeOne = style === 'cookie' ? withoutBlanks : decode
  return (sent) => {
    const given = readStyled(sent, key, form, decodeOne)
    return { value: given === undefined ? absent() : given, faults: noFaults }
  }

  // Ajv takes defaults from the schema of all parameters, which lacks the schema of a JSON parameter.
  function absent(): unknown {
    if (read === 'json') return structuredClone(schema.default)
    return read === 'fields' && required ? toObject([]) : undefined
  }
}

// Reads the whole query as one parameter, and leaves nothing of it to the others. In a form, `+` is a blank
// (OpenAPI 3.2, URL Percent-Encoding).
function createReadWhole(content: Content): (sent: Sent, request: FastifyRequest) => Parsed {
  const { received } = kindOf(content)
  if (received === undefined) throw new Error(`${content.mediaType} is not received`)
  return (sent, request) => {
    sent.clear()
    const text = queryOfParameters(request)
    if (text === '') return { value: undefined, faults: noFaults }
    const whole = received.query === 'encoded' ? text : decode(text.replaceAll('+', '%2B'))
    if (whole === undefined || (received.query !== 'encoded' && whole.includes('\0')))
      throw new StyleError(invalidText)
    return parsed(whole, (bytes) => received.read(bytes, content, content.mediaType))
  }
}

// Passes the parent, in which the validator replaces numbers by exact ones.
function errorsOf(validate: Validator, name: string, values: Values): ErrorObject[] {
  const parent = { parentData: values, parentDataProperty: name, rootData: values }
  if (validate(values[name], { ...parent, instancePath: '', dynamicAnchors: {} })) return []
  return validate.explain(values[name]).map((each) => withPath(each, (path) => jsonPointer([name]) + path))
}

// Finds each parameter in its path segment, without the text around it. Any character of that text may be
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
  return textsByName(pairsOf(query).map((pair) => [nameIn(pair), splitPair(pair)[1]]))
}

function cookieText(sent: string): string {
  const text = decodeCookie(sent)
  if (text === undefined) throw new StyleError(invalidText)
  return text
}
