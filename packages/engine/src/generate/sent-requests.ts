// Generates, for operations.ts, the types of the requests that the service sends, which are those of webhooks
// and callbacks, and of their receivers' responses.

import type { Content, Contract, ReceiverResponse, SentRequest } from '../document/contract.js'
import { kindOf } from '../kinds/index.js'
import { quote } from '../lib/texts.js'
import { type Notation, namedType } from './notation.js'
import { statusTypes } from './statuses.js'

type Named = readonly [path: string, request: SentRequest]

/** Returns the Path Items of all these requests, for `webhooks` of types.ts, which lacks callbacks. */
export function sentItems(contract: Contract): Readonly<Record<string, object>> {
  const items = allOf(contract).map(([path, { definition }]) => {
    const { parameters, requestBody, responses = {} } = definition
    return [path, { post: { parameters, responses, ...(requestBody !== undefined && { requestBody }) } }]
  })
  return Object.fromEntries(items)
}

function allOf({ webhooks, callbacks }: Contract): Named[] {
  const ofCallbacks = [...callbacks].flatMap(([id, requests]) =>
    [...requests].map(([name, request]): Named => [pathOf(id, name), request]),
  )
  return [...webhooks, ...ofCallbacks]
}

function pathOf(id: string, callback: string): string {
  return `${id}.${callback}`
}

/** Returns the text of these types; empty if there are none. */
export function sentRequestTypes({ webhooks, callbacks }: Contract, notation: Notation): string {
  if (webhooks.size + callbacks.size === 0) return ''
  const operations = [...callbacks].map(([id, requests]) => {
    const members = [...requests].map(
      ([name, request]) => `    ${name}: ${requestTypes(pathOf(id, name), request, '    ', notation)}`,
    )
    return `  ${id}: {\n${members.join('\n')}\n  }`
  })
  const own = [...webhooks].map(
    ([name, request]) => `  ${name}: ${requestTypes(name, request, '  ', notation)}`,
  )
  return `
/** The request that \`createOutgoing\` sends for each webhook, and the responses of its receiver. */
export type Webhooks = {${own.map((each) => `\n${each}`).join('')}${own.length > 0 ? '\n' : ''}}

/** The requests and responses of the callbacks of each operation. */
export type Callbacks = {${operations.map((each) => `\n${each}`).join('')}${operations.length > 0 ? '\n' : ''}}
`
}

function requestTypes(path: string, request: SentRequest, indent: string, notation: Notation): string {
  const responses = statusTypes([...request.responses.values()]).map(
    ([response, status]) => `\n${indent}    | ${responseType(path, response, status, notation)}`,
  )
  const members = [
    `request: ${requestType(path, request, notation)}`,
    `response:${responses.join('') || ' never'}`,
  ]
  return `{\n${members.map((each) => `${indent}  ${each}\n`).join('')}${indent}}`
}

function requestType(path: string, { parameters, body }: SentRequest, notation: Notation): string {
  const declared = `webhooks[${quote(path)}]['post']`
  const isRequired = parameters.some(({ required }) => required)
  const headers = `NonNullable<${declared}['parameters']['header']>`
  const members = [
    ...(parameters.length > 0 ? [`headers${isRequired ? '' : '?'}: ${headers}`] : []),
    ...(body === undefined ? [] : [`body${body.required ? '' : '?'}: ${bodyType(declared, body, notation)}`]),
  ]
  return members.length > 0 ? `{ ${members.join('; ')} }` : 'Record<never, never>'
}

// Typed as in a response, because values that the service itself sets are sent.
function bodyType(declared: string, body: NonNullable<SentRequest['body']>, notation: Notation): string {
  return valueType(body, `NonNullable<${declared}['requestBody']>['content']`, notation)
}

// A body that is not declared is not read.
function responseType(
  path: string,
  { key, contents }: ReceiverResponse,
  status: string,
  notation: Notation,
): string {
  const at = `webhooks[${quote(path)}]['post']['responses'][${/^\d+$/.test(key) ? key : quote(key)}]['content']`
  const types = contents.map((each) => {
    const { receivedAs } = kindOf(each)
    if (receivedAs === 'json') return valueType(each, at, notation)
    return receivedAs === 'text' ? 'string' : 'Uint8Array'
  })
  const body = types.length > 0 ? `body: ${[...new Set(types)].join(' | ')}` : 'body?: undefined'
  return `{ status: ${status}; ${body} }`
}

// JSON is typed as its sender has it: without writeOnly fields.
function valueType(content: Content, contents: string, notation: Notation): string {
  const type = namedType(content, notation) ?? `${contents}[${quote(content.mediaType)}]`
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}
