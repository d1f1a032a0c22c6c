// Writes an example of an operation's request: its required parameters and body, with the contract's
// examples, or else with values of their schemas.

import { stringify } from 'lossless-json'
import type { Content, Contract, Operation, SecurityScheme } from '../../document/contract.js'
import { isJson } from '../../document/media-types.js'
import { operationIn } from '../../document/methods.js'
import { type Node, nodeOf, type Reader } from '../../document/reader.js'
import { successContents } from '../../document/responses.js'
import { credentialPlace } from '../../document/security.js'
import { isStream } from '../../kinds/index.js'
import { capitalized } from '../../lib/texts.js'
import { effectiveParameters } from '../contract/parameters.js'
import { examplesOf } from '../examples/given.js'
import { requestValue } from '../examples/values.js'

export interface ExampleRequest {
  readonly method: string
  /** The path with its query, without the prefix. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Credentials for HTTP Basic, which languages have functions for. */
  readonly login: Login | undefined
  readonly body: string | undefined
  /** True if the response is a stream of items, to be read as it arrives. */
  readonly isStream: boolean
}

export interface Login {
  readonly username: string
  readonly password: string
}

/**
 * Returns undefined if the request cannot be written as text: an object as a parameter, a file as the body.
 */
export function exampleRequest(
  operation: Operation,
  contract: Contract,
  reader: Reader,
): ExampleRequest | undefined {
  const item = reader.node(nodeOf(reader.document.paths)[operation.path])
  const definition = nodeOf(operationIn(item, operation.method))
  const parameters = effectiveParameters(reader, item, definition).filter(({ required }) => required === true)
  const pairs = parameters.map((each) => [each, valueTexts(each, reader)] as const)
  const body = reader.node(definition.requestBody)
  const media = Object.entries(nodeOf(body.content)).find(([mediaType]) => isJson(mediaType))
  if (pairs.some(([, texts]) => texts === undefined)) return undefined
  if (media === undefined && body.required === true) return undefined
  const of = (place: string) =>
    pairs.flatMap(([each, texts = []]) =>
      each.in === place ? texts.map((text) => [String(each.name), text] as const) : [],
    )
  const credentials = credentialsOf(operation, contract)
  const stream = streamOf(operation)
  const cookies = [...credentials.cookie, ...of('cookie')]
  return {
    method: operation.method,
    target: targetOf(operation.path, of('path'), [...credentials.query, ...of('query')]),
    headers: [
      ...credentials.header,
      ...of('header'),
      ...(cookies.length === 0 ? [] : [['Cookie', cookieText(cookies)] as const]),
      ...(media === undefined ? [] : [['Content-Type', media[0]] as const]),
      ...(stream === undefined ? [] : [['Accept', stream.mediaType] as const]),
    ],
    login: credentials.login,
    isStream: stream !== undefined,
    body: media && stringify(exampleOf(reader.node(media[1]), reader), null, 2),
  }
}

// The stream that a client gets unless it asks for something else.
function streamOf(operation: Operation): Content | undefined {
  const [first] = successContents(operation)
  return first !== undefined && isStream(first) ? first : undefined
}

type Pairs = readonly (readonly [name: string, text: string])[]

// Returns the credentials of the first alternative of the operation's security, which needs all of its
// schemes.
function credentialsOf({ security: [first = []] }: Operation, { securitySchemes }: Contract) {
  const sent = first.flatMap(({ name }) => {
    const scheme = securitySchemes.get(name)
    const place = credentialPlace(scheme)
    return scheme === undefined || place === undefined ? [] : [{ scheme, place }]
  })
  const isBasic = ({ place }: (typeof sent)[number]) => place.in === 'authorization' && place.name === 'basic'
  const others = sent.filter((each) => !isBasic(each))
  const at = (...places: readonly string[]): Pairs =>
    others.filter(({ place }) => places.includes(place.in)).map(({ scheme }) => pairOf(scheme))
  return {
    header: at('authorization', 'header'),
    query: at('query'),
    cookie: at('cookie'),
    login: sent.some(isBasic) ? { username: 'YOUR_USERNAME', password: 'YOUR_PASSWORD' } : undefined,
  }
}

function pairOf({ type, scheme = 'bearer', name = '', bearerFormat }: SecurityScheme) {
  if (type === 'apiKey') return [name, 'YOUR_KEY'] as const
  const text = type === 'http' && bearerFormat === undefined ? 'YOUR_KEY' : 'YOUR_TOKEN'
  return ['Authorization', `${capitalized(scheme)} ${text}`] as const
}

function cookieText(cookies: Pairs): string {
  return cookies.map(([name, text]) => `${name}=${encodeURIComponent(text)}`).join('; ')
}

function targetOf(path: string, inPath: Pairs, inQuery: Pairs): string {
  const filled = inPath.reduce(
    (target, [name, text]) => target.replaceAll(`{${name}}`, () => encodeURIComponent(text)),
    path,
  )
  const query = inQuery.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
  return query === '' ? filled : `${filled}?${query}`
}

// Returns a text for each item of an array, as the style `form` sends it by default. Returns undefined for
// values that cannot be written as text.
function valueTexts(parameter: Node, reader: Reader): string[] | undefined {
  const value = exampleOf(parameter, reader)
  const isDefaultForm = (parameter.style ?? 'form') === 'form' && parameter.explode !== false
  if (Array.isArray(value) && !(parameter.in === 'query' && isDefaultForm)) return undefined
  const all = [value].flat()
  if (parameter.content !== undefined || all.some((each) => isObject(each))) return undefined
  return all.map((each) => (typeof each === 'string' ? each : (stringify(each) ?? '')))
}

// A number of a contract may be an object, which keeps its digits.
function isObject(value: unknown): boolean {
  return typeof value === 'object' && /^[[{]/.test(stringify(value) ?? '')
}

// Returns the example of a parameter or a Media Type Object.
function exampleOf(node: Node, reader: Reader): unknown {
  const [given] = examplesOf(node, reader)
  return given === undefined ? requestValue(node.schema, reader) : given.value
}
