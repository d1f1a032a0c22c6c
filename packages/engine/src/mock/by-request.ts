// Fits a made response to its request: the number of items on a page, the links, and the entity tag.

import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import type { Contract, Header, Operation } from '../document/contract.js'
import { requestPath } from '../lib/request-target.js'
import type { HandlerResponse } from '../serve/response/response-serialization.js'
import { byStatus, type ResponseCheck } from '../serve/response/response-validation.js'
import {
  createdAt,
  isOfPages,
  linksIn,
  nextLink,
  ownReference,
  pageLinks,
  pageSizeOf,
  positionOf,
} from './links.js'
import { isValueOf } from './made-headers.js'
import type { MakingParts } from './made-response.js'
import { currentTag } from './preconditions.js'

/** Returns a made response as it answers a request. */
export type ByRequest = (
  made: HandlerResponse,
  request: FastifyRequest,
  check: ResponseCheck,
) => HandlerResponse | Promise<HandlerResponse>

/** What the text of a header is made from. */
interface Made {
  /** The value as the contract has it; undefined if it was left out. */
  readonly given: string | undefined
  readonly response: HandlerResponse
  readonly request: FastifyRequest
}

/** Returns the texts that a header may have, the best first. */
type TextsOf = (made: Made) => (string | undefined)[] | Promise<(string | undefined)[]>

/** Creates the function that fits the made responses of an operation to their requests. */
export function createByRequest(operation: Operation, contract: Contract, parts: MakingParts): ByRequest {
  const texts = textsByName(operation, contract, parts)
  const isVaried = ({ name, setByServer }: Header) => !setByServer && texts.has(name.toLowerCase())
  const varied = [...operation.responses].map(
    ([key, { headers }]) => [key, headers.filter(isVaried)] as const,
  )
  const variedOf = byStatus(new Map(varied))
  return (made, request, check) => {
    const body = pageOf(made, operation, request, check)
    const response = body === made.body ? made : { ...made, body }
    const headers = variedOf(made.status) ?? []
    return headers.length === 0 ? response : withHeaders(headers, response, request)
  }

  async function withHeaders(
    varied: readonly Header[],
    response: HandlerResponse,
    request: FastifyRequest,
  ): Promise<HandlerResponse> {
    const headers: Record<string, unknown> = { ...response.headers }
    for (const header of varied) {
      const given = headers[header.name]?.toString()
      const all = (await texts.get(header.name.toLowerCase())?.({ given, response, request })) ?? []
      const own = all.find((text) => text !== undefined && isValidFor(header, text, request, parts))
      const isKept = header.required || !/^link$/i.test(header.name)
      headers[header.name] = own ?? (isKept ? given : undefined)
    }
    return { ...response, headers }
  }
}

function textsByName(
  operation: Operation,
  contract: Contract,
  parts: MakingParts,
): ReadonlyMap<string, TextsOf> {
  const linksOf = createLinks(operation, contract, parts)
  const ownOf = ({ given, request }: Made) => given && ownReference(given, operation, contract, request)
  return new Map<string, TextsOf>([
    ['link', (made) => [linksOf(made)]],
    ['content-location', (made) => [ownOf(made)]],
    [
      'location',
      (made) => {
        const { status, body } = made.response
        const created = status === 201 ? createdAt(operation, contract, body, made.request, parts) : undefined
        return [created, ownOf(made)]
      },
    ],
    [
      'etag',
      async ({ given, response, request }) => {
        if (given === undefined) return [] // the server makes it
        // A POST creates a resource at another path.
        const isOfPath = !operation.isSafe && operation.method !== 'POST'
        const tag = isOfPath ? await currentTag(request, contract) : undefined
        return [tag, digestOf(response.body)]
      },
    ],
  ])
}

// Creates the function that returns the links of a response. A list without an example of its links gets one
// to the next page.
function createLinks(operation: Operation, contract: Contract, parts: MakingParts) {
  const positions = new Map<string, ReturnType<typeof positionOf>>()
  const positionIn = (example: string) => {
    if (!positions.has(example)) positions.set(example, positionOf(operation, example, parts))
    return positions.get(example)
  }
  return ({ given = '', response: { status, body }, request }: Made): string | undefined => {
    if (status >= 400) return undefined
    const made = linksIn(given)
    const links = made.some(({ relation }) => isOfPages(relation)) ? made : [nextLink, ...made]
    const example = links.find(({ relation }) => /\bnext\b/.test(relation))?.target ?? ''
    const own = links.map((each) => ({
      ...each,
      target: ownReference(each.target, operation, contract, request),
    }))
    const text = pageLinks(
      own,
      positionIn(example),
      operation,
      request,
      Array.isArray(body) ? body.length : 0,
    )
    return text === '' ? undefined : text
  }
}

// Cuts a list to the number of items that the request asks for, if its schema allows so few.
function pageOf(
  { status, headers, body }: HandlerResponse,
  operation: Operation,
  request: FastifyRequest,
  check: ResponseCheck,
): unknown {
  const size = Array.isArray(body) ? pageSizeOf(operation, request) : undefined
  if (!Array.isArray(body) || size === undefined || body.length <= size) return body
  const page = body.slice(0, size)
  return check.fault(status, page, headers?.['Content-Type']?.toString()) === undefined ? page : body
}

// Returns the same tag for the same body, as a server does.
function digestOf(body: unknown): string {
  return `"${hash('sha1', stringify(body) ?? '', 'base64url')}"`
}

// Accepts a text that is valid as it is, or as the server sends it: with absolute links.
function isValidFor(header: Header, text: string, request: FastifyRequest, parts: MakingParts): boolean {
  const base = `${request.protocol}://${request.host || 'localhost'}${requestPath(request.url)}`
  const toUrl = (target: string) => (URL.canParse(target, base) ? new URL(target, base).href : target)
  const sent = /^link$/i.test(header.name)
    ? text.replace(/<([^<>]*)>/g, (_, target) => `<${toUrl(target)}>`)
    : toUrl(text)
  return [text, sent].some((each) => isValueOf(header, each, parts))
}
