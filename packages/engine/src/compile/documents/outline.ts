// Outlines the operations of a contract for pages that are read as text: what each takes and returns, with
// every reference followed.

import type { Content, Contract, Operation, Response } from '../../document/contract.js'
import { isJson } from '../../document/media-types.js'
import { operationsIn } from '../../document/methods.js'
import { type Node, nodeOf, Reader } from '../../document/reader.js'
import { isStream } from '../../kinds/index.js'
import { effectiveParameters } from '../contract/parameters.js'
import { withDates } from './page-document.js'
import { shortSchema } from './short-schema.js'

/** A parameter, a header, or a member of a schema. */
export interface ItemOutline {
  readonly name: string
  readonly required: boolean
  /** The schema in a few words: `integer from 1 to 100`. */
  readonly type: string
  readonly description: string
}

export interface ParameterOutline extends ItemOutline {
  /** `path`, `query`, `header` or `cookie`. */
  readonly in: string
}

export interface ContentOutline {
  readonly mediaType: string
  readonly type: string
}

export interface ResponseOutline {
  readonly status: string
  readonly description: string
  readonly headers: readonly ItemOutline[]
  readonly contents: readonly ContentOutline[]
}

/** What a request and its responses have, whether the client or the service sends it. */
export interface ExchangeOutline {
  readonly method: string
  readonly summary: string
  /** In Markdown, with the dates of a deprecation. */
  readonly description: string
  readonly parameters: readonly ParameterOutline[]
  readonly body:
    | {
        readonly required: boolean
        readonly description: string
        readonly contents: readonly ContentOutline[]
      }
    | undefined
  readonly responses: readonly ResponseOutline[]
}

export interface OperationOutline extends ExchangeOutline {
  readonly id: string
  /** The path of the operation's servers. */
  readonly prefix: string
  /** The path as in the contract, without the prefix: `/pets/{petId}`. */
  readonly path: string
  /** The alternatives of security schemes that a request must meet; empty if the operation is public. */
  readonly security: Operation['security']
  readonly callbacks: readonly SentOutline[]
}

/**
 * A request of a webhook or a callback, which the service sends. Requests without a function are outlined,
 * too.
 */
export interface SentOutline extends ExchangeOutline {
  readonly name: string
  /** The runtime expression of the callback, if it is one. */
  readonly url: string | undefined
}

/** A named schema with members. The types of operations and of other schemas refer to it by its name. */
export interface SchemaOutline {
  readonly name: string
  readonly description: string
  readonly type: string
  readonly members: readonly ItemOutline[]
}

/** Returns the operations of a contract, in its order. */
export function operationsOf(contract: Contract): OperationOutline[] {
  const reader = new Reader(contract.specification)
  return [...contract.operations.values()].map((each) => operationOf(each, reader, contract))
}

/** Returns the webhooks of a contract, in its order. */
export function webhooksOf({ specification }: Contract): SentOutline[] {
  const reader = new Reader(specification)
  const webhooks = Object.entries(reader.node(reader.document.webhooks))
  return webhooks.flatMap(([name, item]) => sentOf(name, undefined, reader.node(item), reader))
}

function callbacksOf({ callbacks }: Node, reader: Reader): SentOutline[] {
  return Object.entries(reader.node(callbacks)).flatMap(([name, value]) => {
    const urls = Object.entries(reader.node(value)).filter(([url]) => !url.startsWith('x-'))
    return urls.flatMap(([url, item]) => sentOf(name, url, reader.node(item), reader))
  })
}

function sentOf(name: string, url: string | undefined, item: Node, reader: Reader): SentOutline[] {
  return operationsIn(item).map(([method, value]) => {
    const operation = reader.node(value)
    const { summary, requestBody, responses } = operation
    const of = Object.entries(reader.node(responses)).filter(([key]) => !key.startsWith('x-'))
    return {
      ...{ name, url, method },
      summary: proseOf(summary),
      description: proseOf(operation.description),
      parameters: parametersOf(item, operation, reader),
      body: requestBody === undefined ? undefined : bodyOf([], reader.node(requestBody), reader),
      responses: of.map(([key, each]) => responseOf({ key, contents: [] }, reader.node(each), reader)),
    }
  })
}

/** Returns the named schemas of a contract. */
export function schemasOf({ specification }: Contract): SchemaOutline[] {
  const reader = new Reader(specification)
  return Object.entries(reader.node(reader.components.schemas)).map(([name, value]) => {
    const { properties, required, ...schema } = reader.node(value)
    const isRequired = new Set(Array.isArray(required) ? required : [])
    return {
      name,
      description: proseOf(schema.description),
      type: shortSchema(reader.isFalse(value) ? false : schema, reader),
      members: Object.entries(nodeOf(properties)).map(([member, of]) =>
        itemOf(member, isRequired.has(member), { schema: of }, reader),
      ),
    }
  })
}

function operationOf(operation: Operation, reader: Reader, contract: Contract): OperationOutline {
  const { id, method, prefix, path, summary = '', security, definition } = operation
  const item = reader.node(nodeOf(reader.document.paths)[path])
  return {
    ...{ id, method, prefix, path, summary },
    security,
    description: proseOf(withDates(definition, contract).description),
    parameters: parametersOf(item, definition, reader),
    body: operation.body && bodyOf(operation.body.contents, reader.node(definition.requestBody), reader),
    responses: [...operation.responses.values()].map((response) =>
      responseOf(response, reader.node(nodeOf(definition.responses)[response.key]), reader),
    ),
    callbacks: callbacksOf(definition, reader),
  }
}

function parametersOf(item: Node, operation: Node, reader: Reader): ParameterOutline[] {
  return effectiveParameters(reader, item, operation).map((each) => ({
    ...itemOf(String(each.name), each.required === true, each, reader),
    in: String(each.in),
  }))
}

function bodyOf(read: readonly Content[], body: Node, reader: Reader): OperationOutline['body'] {
  return {
    required: body.required === true,
    description: proseOf(body.description),
    contents: contentsOf(body.content, read, reader),
  }
}

function responseOf(
  { key, contents: read }: Pick<Response, 'key' | 'contents'>,
  response: Node,
  reader: Reader,
): ResponseOutline {
  const headers = Object.entries(nodeOf(response.headers)).map(([name, value]) => {
    const header = reader.node(value)
    return itemOf(name, header.required === true, header, reader)
  })
  const contents = contentsOf(response.content, read, reader)
  return { status: key, description: proseOf(response.description ?? response.summary), headers, contents }
}

function contentsOf(content: unknown, read: readonly Content[], reader: Reader): ContentOutline[] {
  return Object.entries(nodeOf(content)).map(([mediaType, value]) => {
    const stream = read.find((known) => isStream(known) && known.mediaType === mediaType)
    const type = stream ? streamText(stream, reader) : shortSchema(reader.node(value).schema, reader)
    return { mediaType, type }
  })
}

// An event is shown with its data as a value, not as the text that is sent.
function streamText({ framing, schema }: Content, reader: Reader): string {
  const item = shortSchema(schema, reader)
  if (framing === 'sse') return `a stream of server-sent events: ${item}`
  if (framing === 'rows') return `a stream of CSV, a row for each item: ${item}`
  return `a stream of JSON, ${framing === 'lines' ? 'a line' : 'a record (RFC 7464)'} for each item: ${item}`
}

const marks: readonly (readonly [mark: string, text: string])[] = [
  ['readOnly', 'read-only'],
  ['writeOnly', 'write-only'],
  ['deprecated', 'deprecated'],
]

// A description beside a schema is about its use here, and one in the schema about every use, so the former
// comes first.
function itemOf(name: string, required: boolean, { schema, ...item }: Node, reader: Reader): ItemOutline {
  const [[mediaType, content] = []] = Object.entries(nodeOf(item.content))
  const used = schema ?? reader.node(content).schema
  const target = reader.node(used)
  const isMarked = (mark: string) => item[mark] === true || target[mark] === true
  const type = [
    shortSchema(used, reader) +
      (mediaType === undefined ? '' : ` as ${isJson(mediaType) ? 'JSON' : mediaType}`),
    ...marks.filter(([mark]) => isMarked(mark)).map(([, text]) => text),
  ].join(', ')
  return { name, required, type, description: proseOf(item.description) || proseOf(target.description) }
}

function proseOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
