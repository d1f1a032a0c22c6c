// Writes `/llms.txt`: what `/docs` shows, as plain Markdown, for language models and for readers without a
// browser (https://llmstxt.org).

import type { Contract, SecurityScheme } from '../../document/contract.js'
import { type Node, nodeOf } from '../../document/reader.js'
import { credentialPlace, schemeKind } from '../../document/security.js'
import { capitalized } from '../../lib/texts.js'
import type { PageParts } from '../../serve/documents/page-parts.js'
import { type Tag, tagsOf } from '../contract/tags.js'
import {
  type ContentOutline,
  type ExchangeOutline,
  type ItemOutline,
  type OperationOutline,
  operationsOf,
  type ParameterOutline,
  type ResponseOutline,
  type SchemaOutline,
  type SentOutline,
  schemasOf,
  webhooksOf,
} from './outline.js'
import { describedSections, securityText } from './page-document.js'

/**
 * Returns the operations, and all that a caller must know of them, in Markdown. The contract's `mark` stands
 * for the base address.
 */
export function plainTextOf(contract: Contract, parts: PageParts): string {
  const operations = operationsOf(contract)
  const common = commonHeaders(operations)
  const { summary, description } = nodeOf(nodeOf(contract.document).info)
  return [
    `# ${contract.title}`,
    ...(summary === undefined ? [] : [`> ${inLine(summary)}`]),
    `Version ${contract.version}. The paths below follow the base address: ${contract.mark}`,
    ...(description === undefined ? [] : [String(description).trim()]),
    ...section('Security schemes', schemesOf(contract)),
    ...section('Tags', tagLines(nodeOf(contract.document))),
    '## Operations',
    ...operations.flatMap((each) => operationText(each, common, contract.prefix)),
    ...webhookTexts(webhooksOf(contract)),
    ...section('Response headers', headersOf(operations, common)),
    ...schemaTexts(schemasOf(contract)),
    ...describedSections(contract, parts),
  ]
    .join('\n\n')
    .concat('\n')
}

function section(title: string, lines: readonly string[], level = '##'): string[] {
  return lines.length === 0 ? [] : [`${level} ${title}`, lines.join('\n')]
}

function schemesOf({ securitySchemes }: Contract): string[] {
  return [...securitySchemes].map(([name, scheme]) => {
    const state = scheme.deprecated === true ? 'Deprecated.' : ''
    const texts = [state, usageOf(scheme), ...getting(scheme), inLine(scheme.description ?? '')]
    return `- \`${name}\` (${schemeKind(scheme)}): ${texts.filter((each) => each !== '').join(' ')}`
  })
}

// Lists tags only if some are nested: otherwise each operation names its tags.
function tagLines(document: Node): string[] {
  const tags = tagsOf(document)
  const lines = (tag: Tag, indent: string): string[] => {
    const { name, title, description, inner } = tag
    const text = `${title === name ? '' : ` ${title}.`}${after(String(description ?? ''))}`
    const own = `${indent}- \`${name}\`${text === '' ? '' : `:${text}`}`
    return [own, ...inner.flatMap((each) => lines(each, `${indent}  `))]
  }
  return tags.some(({ inner }) => inner.length > 0) ? tags.flatMap((each) => lines(each, '')) : []
}

// How the credential is sent.
function usageOf(scheme: SecurityScheme): string {
  const { type, in: location, name, bearerFormat } = scheme
  const place = credentialPlace(scheme)
  if (place === undefined) return type === 'mutualTLS' ? 'A certificate of the client, by TLS.' : ''
  if (type === 'apiKey') return `Send the key in the ${locations[location ?? '']} \`${name}\`.`
  if (place.name === 'basic') return 'Send a user name and a password by HTTP Basic.'
  const format = bearerFormat === undefined ? '' : ` (${bearerFormat})`
  return `Send the token${format} in the header \`Authorization: ${capitalized(place.name)} …\`.`
}

const locations: Readonly<Record<string, string>> = {
  header: 'header',
  query: 'query parameter',
  cookie: 'cookie',
}

// Where a caller gets the credential.
function getting({ openIdConnectUrl, flows = {} }: SecurityScheme): string[] {
  const discovery = openIdConnectUrl === undefined ? [] : [`OpenID Connect: ${openIdConnectUrl}.`]
  return [...discovery, ...Object.entries(flows).map(([name, flow]) => flowText(name, nodeOf(flow)))]
}

function flowText(name: string, { scopes, ...urls }: Node): string {
  const places = Object.entries(urls).filter(([key, url]) => key.endsWith('Url') && typeof url === 'string')
  const all = Object.entries(nodeOf(scopes)).map(([scope, text]) => `\`${scope}\` (${inLine(text)})`)
  const list = all.length === 0 ? '' : `; scopes: ${all.join(', ')}`
  return `Flow \`${name}\`: ${places.map(([key, url]) => `${key} ${url}`).join(', ')}${list}.`
}

function operationText(operation: OperationOutline, common: readonly string[], usual: string): string[] {
  const { id, method, prefix, path, summary, security, callbacks } = operation
  const url = `Not below the base address, but at the root of its server: \`${prefix}${path}\`.`
  return [
    `### ${method} ${path}`,
    `\`${id}\`${summary === '' ? '' : `: ${summary}`}. Security: ${securityText(security)}.`,
    ...(prefix === usual ? [] : [url]),
    ...exchangeText(operation, common),
    ...callbacks.flatMap(callbackText),
  ]
}

function exchangeText(
  { description, parameters, body, responses }: ExchangeOutline,
  common: readonly string[],
  level = '####',
): string[] {
  return [
    ...(description === '' ? [] : [description]),
    ...section('Parameters', parameters.map(parameterText), level),
    ...(body === undefined ? [] : section('Body', bodyLines(body), level)),
    ...section(
      'Responses',
      responses.map((each) => responseText(each, common)),
      level,
    ),
  ]
}

function webhookTexts(webhooks: readonly SentOutline[]): string[] {
  if (webhooks.length === 0) return []
  const texts = webhooks.flatMap((each) => [
    `### Webhook ${each.name}`,
    sentText(each),
    ...exchangeText(each, []),
  ])
  return ['## Webhooks', ...texts]
}

function callbackText(callback: SentOutline): string[] {
  return [`#### Callback ${callback.name}`, sentText(callback), ...exchangeText(callback, [], '#####')]
}

// The service sends the parameters and the body; the receiver sends the responses.
function sentText({ method, url, summary }: SentOutline): string {
  const to = url === undefined ? '' : ` to \`${url}\``
  return `The service sends ${method}${to}${summary === '' ? '' : `: ${summary}`}.`
}

function parameterText({ name, in: location, required, type, description }: ParameterOutline): string {
  return `- \`${name}\` (${location}${required ? ', required' : ''}): ${type}.${after(description)}`
}

function bodyLines({ required, description, contents }: NonNullable<OperationOutline['body']>): string[] {
  return [`${required ? 'Required' : 'Optional'}: ${contentText(contents)}.${after(description)}`]
}

function responseText(response: ResponseOutline, common: readonly string[]): string {
  const { status, description, headers, contents } = response
  const names = headers.map(itemName).filter((name) => !common.includes(name))
  return [
    `- ${status}: ${inLine(description)}`,
    ...(contents.length === 0 ? [] : [`Body: ${contentText(contents)}.`]),
    ...(names.length === 0 ? [] : [`Headers: ${names.join(', ')}.`]),
  ].join(' ')
}

function contentText(contents: readonly ContentOutline[]): string {
  return contents.map(({ mediaType, type }) => `\`${mediaType}\`, ${type}`).join('; or ')
}

// Returns the headers of every response. To repeat them would make each line long.
function commonHeaders(operations: readonly OperationOutline[]): string[] {
  const all = operations.flatMap(({ responses }) => responses.map(({ headers }) => headers.map(itemName)))
  const [first = [], ...others] = all
  return first.filter((name) => others.every((names) => names.includes(name)))
}

function headersOf(operations: readonly OperationOutline[], common: readonly string[]): string[] {
  const sent = operations.flatMap(({ id, responses }) =>
    responses.flatMap(({ status, headers }) => headers.map((header) => ({ id, status, header }))),
  )
  const isAlways = (name: string) => sent.every(({ header }) => itemName(header) !== name || header.required)
  const [always, mostly] = [common.filter(isAlways), common.filter((name) => !isAlways(name))]
  const every = [
    ...(always.length === 0 ? [] : [`Every response has ${always.join(', ')}.`]),
    ...(mostly.length === 0 ? [] : [`Every response may have ${mostly.join(', ')}.`]),
  ]
  return [...(every.length === 0 ? [] : [`${every.join(' ')}\n`]), ...headerLines(sent)]
}

interface SentHeader {
  readonly id: string
  readonly status: string
  readonly header: ItemOutline
}

// If headers of one name have several texts, each text names its responses, except the most frequent one.
function headerLines(sent: readonly SentHeader[]): string[] {
  const byName = groupedBy(sent, ({ header }) => header.name)
  return [...byName.values()].flatMap((all) => {
    const byText = [...groupedBy(all, ({ header }) => itemText(header)).values()]
    const most = Math.max(...byText.map(({ length }) => length))
    const usual = byText.find(({ length }) => length === most)
    return byText.map((each) => {
      const [{ header } = {} as SentHeader] = each
      const name = itemName(header)
      if (byText.length === 1) return itemText(header)
      const places = each === usual ? 'of the others' : `of ${placesOf(each)}`
      return itemText(header).replace(name, `${name} (${places})`)
    })
  })
}

function groupedBy<Each>(all: readonly Each[], keyOf: (each: Each) => string): Map<string, Each[]> {
  const groups = new Map<string, Each[]>()
  for (const each of all) {
    const others = groups.get(keyOf(each))
    if (others === undefined) groups.set(keyOf(each), [each])
    else others.push(each)
  }
  return groups
}

function placesOf(sent: readonly SentHeader[]): string {
  const byId = groupedBy(sent, ({ id }) => id)
  const statuses = [...byId].map(([id, all]) => [id, all.map(({ status }) => status).join(', ')] as const)
  const isSame = statuses.length > 1 && new Set(statuses.map(([, each]) => each)).size === 1
  if (isSame) return String(statuses[0]?.[1])
  return statuses.map(([id, each]) => `\`${id}\` ${each}`).join('; ')
}

function itemName({ name }: ItemOutline): string {
  return `\`${name}\``
}

function itemText({ name, type, description }: ItemOutline): string {
  return `- \`${name}\`: ${type}.${after(description)}`
}

function schemaTexts(schemas: readonly SchemaOutline[]): string[] {
  if (schemas.length === 0) return []
  return [
    '## Schemas',
    ...schemas.map(({ name, type, description, members }) =>
      [
        `### ${name}\n`,
        `${type}.${after(description)}`,
        ...members.map((each) =>
          each.required ? itemText(each).replace(': ', ' (required): ') : itemText(each),
        ),
      ].join('\n'),
    ),
  ]
}

function after(description: string): string {
  return description === '' ? '' : ` ${inLine(description)}`
}

function inLine(text: unknown): string {
  return String(text).replace(/\s+/g, ' ').trim()
}
