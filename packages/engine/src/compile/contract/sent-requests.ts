// Reads the requests that the service sends: those of webhooks, and of the callbacks of operations. A request
// that cannot be sent as declared is a warning, because the contract can be served without it.

import {
  type Content,
  type Contract,
  type Operation,
  type Parameter,
  type Schema,
  type SentRequest,
  signatureHeaders,
} from '../../document/contract.js'
import type { Pointer } from '../../document/contract-error.js'
import { essence, isJson, isRange } from '../../document/media-types.js'
import { methodPlace, operationPlace, operationsIn } from '../../document/methods.js'
import { moduleName } from '../../document/names.js'
import { found, type Node, type Reader } from '../../document/reader.js'
import { readUrl } from '../../document/runtime-expressions.js'
import { oneLine } from '../../lib/texts.js'
import { readContents } from './content.js'
import { effectiveParameters, readParameters } from './parameters.js'
import { bodiless, isStatus } from './read-responses.js'

/** An operation of a path item whose requests the service sends. */
interface FoundRequest {
  readonly item: Node
  readonly method: string
  readonly node: Node
  readonly at: Pointer
  /** The key of the callback, if it is one. */
  readonly url: string | undefined
}

/** Returns the requests of webhooks, by name. */
export function readWebhooks(reader: Reader): Contract['webhooks'] {
  if (reader.document['x-webhooks'] !== undefined)
    reader.within(['x-webhooks'], () =>
      reader.warn('x-webhooks has no effect: webhooks are of OpenAPI 3.1 and later'),
    )
  const requests = new Map<string, SentRequest>()
  for (const [key, value] of Object.entries(reader.node(reader.document.webhooks))) {
    const all = requestsOf(reader, value, ['webhooks', key], undefined)
    addAll(reader, requests, `the webhook ${key}`, key, all)
  }
  return requests
}

/** Returns the requests of callbacks, by the name of their operation and their own name. */
export function readCallbacks(reader: Reader, operations: Contract['operations']): Contract['callbacks'] {
  const callbacks = new Map<string, ReadonlyMap<string, SentRequest>>()
  for (const operation of operations.values()) {
    const requests = callbacksOf(reader, operation)
    if (requests.size > 0) callbacks.set(operation.name, requests)
  }
  return callbacks
}

function callbacksOf(reader: Reader, operation: Operation): Map<string, SentRequest> {
  const { id, definition } = operation
  const requests = new Map<string, SentRequest>()
  for (const [key, value] of Object.entries(reader.node(definition.callbacks))) {
    const at = [...operationPlace(operation), 'callbacks', key]
    const urls = Object.entries(reader.node(value)).filter(([url]) => !url.startsWith('x-'))
    const all = urls.flatMap(([url, item]) => requestsOf(reader, item, [...at, url], url))
    addAll(reader, requests, `the callback ${key} of ${id}`, key, all)
  }
  return requests
}

function requestsOf(reader: Reader, value: unknown, at: Pointer, url: string | undefined): FoundRequest[] {
  const item = reader.node(value)
  return operationsIn(item).map(([method, operation]) => {
    return { item, method, node: reader.node(operation), at: [...at, ...methodPlace(method)], url }
  })
}

// A single request has the name of the webhook or callback; each of several has that of its operationId.
function addAll(
  reader: Reader,
  requests: Map<string, SentRequest>,
  place: string,
  key: string,
  all: readonly FoundRequest[],
): void {
  for (const each of all) {
    const own = all.length === 1 ? key : each.node.operationId
    const name = typeof own === 'string' && own !== '' ? moduleName(own) : undefined
    reader.within(each.at, () => {
      const request = readRequest(reader, place, each)
      const faults = found([
        [name === undefined, 'is one of several requests: give it an operationId'],
        [name !== undefined && requests.has(name), `has the same name as another: ${name}`],
      ])
      const [fault] = [...faults, ...(typeof request === 'string' ? [request] : [])]
      if (fault !== undefined) reader.warn(`${place} cannot be sent: it ${fault}`)
      else requests.set(name as string, request as SentRequest)
    })
  }
}

// Returns a request, or why it cannot be sent.
function readRequest(
  reader: Reader,
  place: string,
  { item, method, node, url }: FoundRequest,
): SentRequest | string {
  const { requestBody } = node
  const { content, required } = reader.node(requestBody)
  const { result, unsupported } = reader.collectUnsupported(() => ({
    parameters: readParameters(reader, place, '', item, node).filter((each) => !isOfSignature(each)),
    contents:
      requestBody === undefined ? [] : readContents(reader, `${place}: the request body`, content, 'request'),
  }))
  const { parameters, contents } = result
  const json = contents.find(({ mediaType }) => isJson(mediaType))
  const parts = url === undefined ? [] : readUrl(url)
  const other = parameters.find((each) => each.in !== 'header')
  const shaped = parameters.find((each) => each.form !== undefined)
  const [fault] = [
    ...found([
      [
        other !== undefined,
        `has the ${other?.in} parameter ${other?.name}: only header parameters can be sent`,
      ],
      [shaped !== undefined, `has the header ${shaped?.name}, which is an array, an object or JSON`],
      [requestBody !== undefined && json === undefined, 'has a body that is not JSON'],
      [parts === undefined, `has a URL that is not made of its request alone: ${url}`],
    ]),
    ...unsupported.map((text) => oneLine(`is not supported: ${text}`)),
  ]
  if (fault !== undefined) return fault
  const own = effectiveParameters(reader, item, node).filter((each) => !isOfSignature(each))
  return {
    place,
    method,
    parameters,
    body: json && { ...json, required: required === true },
    url: parts ?? [],
    responses: readReceiverResponses(reader, node),
    definition: { ...node, parameters: own },
  }
}

// Reads the responses that a receiver may send. Any other response is refused when it arrives: the contract
// can be served without it.
function readReceiverResponses(reader: Reader, { responses }: Node): SentRequest['responses'] {
  const declared = Object.entries(reader.node(responses)).filter(([key]) => isStatus(key.toLowerCase()))
  return new Map(
    declared.map(([key, value]) => {
      const status = key.toLowerCase()
      const all = bodiless.includes(status) ? [] : Object.entries(reader.node(reader.node(value).content))
      const contents = all.map(([mediaType, media]) => sentContent(reader, mediaType, reader.node(media)))
      return [status, { status, key, contents }]
    }),
  )
}

function sentContent(reader: Reader, mediaType: string, { schema }: Node): Content {
  if (isRange(mediaType)) return { mediaType, kind: 'bytes' }
  if (!isJson(mediaType))
    return { mediaType, kind: essence(mediaType).startsWith('text/') ? 'text' : 'bytes' }
  reader.checkRefs(schema)
  return { mediaType, kind: 'json', schema: schema as Schema | boolean }
}

function isOfSignature({ in: location, name }: Pick<Parameter, 'in' | 'name'> | Node): boolean {
  return location === 'header' && signatureHeaders.some((each) => each === String(name).toLowerCase())
}
