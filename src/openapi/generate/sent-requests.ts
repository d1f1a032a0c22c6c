// The types of the requests that the service sends, for operations.ts: those of webhooks and callbacks.

import type { Contract, SentRequest } from '../contract/contract.js'
import { type Notation, namedType, quote } from './notation.js'

type Named = readonly [path: string, request: SentRequest]

/** Path Items of all requests, for the `webhooks` of types.ts: callbacks are not in it. */
export function sentItems(contract: Contract): Readonly<Record<string, object>> {
  const items = allOf(contract).map(([path, { definition }]) => {
    const { parameters, requestBody } = definition
    return [path, { post: { parameters, responses: {}, ...(requestBody !== undefined && { requestBody }) } }]
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

/** Their types; empty if there are none. */
export function sentRequestTypes({ webhooks, callbacks }: Contract, notation: Notation): string {
  if (webhooks.size + callbacks.size === 0) return ''
  const operations = [...callbacks].map(([id, requests]) => {
    const members = [...requests].map(
      ([name, request]) => `    ${name}: ${requestType(pathOf(id, name), request, notation)}`,
    )
    return `  ${id}: {\n${members.join('\n')}\n  }`
  })
  const own = [...webhooks].map(([name, request]) => `  ${name}: ${requestType(name, request, notation)}`)
  return `
/** What \`createOutgoing\` takes for each webhook. */
export type Webhooks = {${own.map((each) => `\n${each}`).join('')}${own.length > 0 ? '\n' : ''}}

/** What it takes for the callbacks of each operation. */
export type Callbacks = {${operations.map((each) => `\n${each}`).join('')}${operations.length > 0 ? '\n' : ''}}
`
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

// As in a response: what the service itself sets is sent.
function bodyType(declared: string, body: NonNullable<SentRequest['body']>, notation: Notation): string {
  const content = `NonNullable<${declared}['requestBody']>['content'][${quote(body.mediaType)}]`
  const type = namedType(body, notation) ?? content
  return notation.hasReadOrWriteOnly ? `Readable<${type}>` : type
}
