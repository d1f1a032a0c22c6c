// A row of YAML describes a feature of OpenAPI: a contract, calls of its server, and what the server refuses,
// receives and sends.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { type Contract, ContractError, notImplemented, type Operation } from 'contract-engine'
import { readContract } from 'contract-engine/compile'
import { exactNumber, narrowed } from 'contract-engine/lib/exact-number'
import { unmetSecurity } from 'contract-engine/tools'
import type { FastifyBaseLogger, FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { parse as parseJson, stringify } from 'lossless-json'
import { pino } from 'pino'
import { parse, parseDocument } from 'yaml'
import { buildEngine } from './engine.js'

type Node = Readonly<Record<string, unknown>>

/** A feature of features.yaml. */
export interface Feature {
  readonly area: string
  readonly feature: string
  /** A section of OpenAPI 3.1.1 or of JSON Schema. */
  readonly section?: string
  /** Fields that replace those of the smallest contract. */
  readonly document?: Node
  /** The text of the whole contract, for features of notation. */
  readonly text?: string
  /** Other files of the contract. */
  readonly files?: Readonly<Record<string, string>>
  /** The schema of the JSON body of `POST /values`. */
  readonly schema?: unknown
  /** The body of `POST /values`. */
  readonly requestBody?: unknown
  /** The parameter of `GET /values` or `GET /values/{v}`. Its default name is `v`. */
  readonly parameter?: Node
  /** The responses of `GET /values`. */
  readonly responses?: Node
  readonly components?: Node
  readonly calls?: readonly Call[]
  /** True if its operations have no handler. */
  readonly isUnwritten?: boolean
  /** The lines with which generate refuses it, without locations. */
  readonly refused?: string
  /** The warnings of the contract, if the feature is about them. */
  readonly warnings?: readonly string[]
}

/** A request, and the expected outcome. */
export interface Call {
  /** Default: `POST /values` if the feature has a body, else `GET /values`. */
  readonly request?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A body sent as JSON. */
  readonly body?: unknown
  /** A body sent verbatim. */
  readonly text?: string
  /** The result of the handler. Default: the request that it received. */
  readonly response?: Node
  /** Part of the request that the handler receives. */
  readonly received?: Node
  readonly responseBody?: string
  /** Some of the response's headers. */
  readonly responseHeaders?: Node
  /** The message of an error response. */
  readonly message?: string
  /** Default: 200, or 400 with a message. */
  readonly status?: number
  /** The message of the error that the server logs. */
  readonly logged?: string
}

/** The outcome of a call, in the fields that the call expects. */
export type Outcome = Omit<Call, 'request' | 'headers' | 'body' | 'text' | 'response'>

/** The outcome of a feature. */
export interface Result {
  /** The lines of generate with locations, if it refuses the contract. */
  readonly refused?: readonly string[]
  /** One outcome for each call. */
  readonly outcomes: readonly Outcome[]
  /** The warnings of the contract. */
  readonly warnings?: readonly string[]
}

/** Reads features.yaml, cases.yaml, or another file in that form. */
export async function readFeatures(file: string): Promise<Feature[]> {
  const text = await readFile(file, 'utf8')
  // Integers become bigints only if a number would round them.
  const exact = (_: unknown, each: unknown) => (typeof each === 'bigint' ? narrowed(each) : each)
  const areas: Record<string, Omit<Feature, 'area'>[]> = parse(text, exact, {
    intAsBigInt: true,
    merge: true,
    maxAliasCount: -1, // rows share many parts
  })
  return Object.entries(areas).flatMap(([area, rows]) => rows.map((row) => ({ area, ...row })))
}

/** Returns the contract of a feature, as YAML. */
export function contractOf({ text, document, components, ...feature }: Feature): string {
  if (text !== undefined) return text
  const contract = {
    openapi: '3.1.0',
    info: { title: 'Values', version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'http://localhost:3000' }],
    security: [],
    paths: pathsOf(feature),
    ...(components && { components }),
    ...document,
  }
  return String(parseDocument(String(stringify(contract)), { intAsBigInt: true }))
}

function pathsOf({ schema, requestBody, parameter, responses }: Partial<Feature>): Node {
  const parameters = parameter && [
    { name: 'v', ...parameter, ...(parameter.in === 'path' && { required: true }) },
  ]
  const body =
    requestBody ?? (schema !== undefined && { required: true, content: { 'application/json': { schema } } })
  const operation = {
    operationId: 'values',
    summary: 'Values',
    ...(parameters && { parameters }),
    ...(body && { requestBody: body }),
    responses: responses ?? anything,
  }
  return { [parameter?.in === 'path' ? '/values/{v}' : '/values']: { [body ? 'post' : 'get']: operation } }
}

const anything = {
  200: {
    description: 'The request that the handler received.',
    content: { 'application/json': { schema: {} } },
  },
  '4XX': { description: 'An error.' },
}

/** How to read a feature's contract and build its server. */
export interface Way<Read extends Contract> {
  readonly read: (file: string, readText: (file: string) => Promise<string>) => Promise<Read>
  readonly build: Build<Read>
}

/** Runs a feature, without the checks that only generate makes. */
export async function runCase<Read extends Contract>(
  feature: Feature,
  { read, build }: Way<Read>,
): Promise<Result> {
  const texts: Record<string, string> = { ...feature.files, 'openapi.yaml': contractOf(feature) }
  const readText = async (file: string) => {
    const text = texts[path.basename(file)]
    return text ?? Promise.reject(new Error(file))
  }
  try {
    const contract = await read('openapi.yaml', readText)
    return {
      outcomes: await runCalls(feature, contract, build),
      warnings: contract.warnings.map(({ text }) => text),
    }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    return { refused: error.message.split('\n'), outcomes: [] }
  }
}

/** Builds a server of a contract with these handlers, and with checks that any credential passes. */
export type Build<Read extends Contract = Contract> = (
  contract: Read,
  handlerOf: (operation: Operation) => unknown,
  log: FastifyBaseLogger,
) => Promise<FastifyInstance>

/** Returns the outcomes of a feature's calls. @throws {ContractError} if the server cannot be built */
export async function runCalls<Read extends Contract>(
  feature: Feature,
  contract: Read,
  build: Build<Read>,
): Promise<Outcome[]> {
  let response: Node | undefined
  const hasCheck = (name: string) => contract.securitySchemes.has(name)
  const handlerOf = (operation: Operation) =>
    feature.isUnwritten === true || unmetSecurity(operation, contract, hasCheck).length > 0
      ? notImplemented(operation.name)
      : async (request: Node) => response ?? { status: 200, body: await shown(request, operation) }
  const logged: string[] = []
  const write = (line: string) => void logged.push(JSON.parse(line).err?.message)
  const log = pino({ level: 'error' }, { write }) as FastifyBaseLogger
  const app = await build(contract, handlerOf, log)
  const outcomes: Outcome[] = []
  for (const each of feature.calls ?? []) {
    response = each.response
    const outcome = outcomeOf(each, await app.inject(requestOf(each, feature)))
    const found = logged.splice(0).join()
    outcomes.push({ ...outcome, ...(each.logged !== undefined && { logged: found }) })
  }
  await app.close()
  return outcomes
}

// Gives each scheme a check with its own form.
const buildReady: Build = async (contract, handlerOf, log) => {
  const forms = Object.fromEntries(
    [...contract.securitySchemes.keys()].map((name) => {
      return [name, { caller: () => ({ scopes: new Set<string>() }), recognizes: () => true }]
    }),
  )
  const app = await buildEngine(contract, handlerOf, log, forms)
  await app.ready()
  return app
}

/** Runs a feature on the engine alone. */
export const engineAlone: Way<Contract> = { read: readContract, build: buildReady }

// Shows a request with declared headers only, and with bytes as text.
async function shown(request: Node, { parameters }: Operation): Promise<Node> {
  const names = parameters.filter((each) => each.in === 'header').map(({ name }) => name.toLowerCase())
  const headers = Object.entries(request.headers as Node).filter(([name]) => names.includes(name))
  return { ...((await withText(request)) as Node), headers: Object.fromEntries(headers) }
}

async function withText(value: unknown): Promise<unknown> {
  if (value instanceof Readable) return `stream of ${Buffer.concat(await value.toArray())}`
  if (value instanceof Uint8Array) return `bytes of ${Buffer.from(value).toString()}`
  if (Array.isArray(value)) return Promise.all(value.map(withText))
  if (typeof value !== 'object' || value === null) return value
  if (Symbol.asyncIterator in value) return filesIn(value as AsyncIterable<unknown>)
  const entries = Object.entries(value).map(async ([name, each]) => [name, await withText(each)])
  return Object.fromEntries(await Promise.all(entries))
}

// Reads the files in sequence, because each must be read before the next is requested.
async function filesIn(files: AsyncIterable<unknown>): Promise<unknown[]> {
  const shown: unknown[] = []
  for await (const each of files) shown.push(await withText(each))
  return shown
}

function requestOf({ request, headers, body, text }: Call, feature: Feature): InjectOptions {
  const hasBody = feature.schema !== undefined || feature.requestBody !== undefined
  const [method = '', url = ''] = (request ?? (hasBody ? 'POST /values' : 'GET /values')).split(' ', 2)
  const sent = text ?? (body === undefined ? undefined : stringify(body))
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return {
    method: method as 'GET',
    url,
    headers: { ...type, ...headers },
    ...(sent !== undefined && { payload: sent }),
  }
}

// Keeps only the fields that the call expects.
function outcomeOf(
  { received, responseBody, responseHeaders }: Call,
  { statusCode, headers, payload }: LightMyRequestResponse,
): Outcome {
  const isRefused = statusCode >= 400
  const read =
    isRefused || received === undefined
      ? {}
      : (parseJson(payload, undefined, { parseNumber: exactNumber }) as Node)
  return {
    ...(statusCode !== (isRefused ? 400 : 200) && { status: statusCode }),
    ...(isRefused && messageOf(payload)),
    ...(received && !isRefused && { received: picked(read, Object.keys(received)) }),
    ...(responseBody !== undefined && { responseBody: payload }),
    ...(responseHeaders && { responseHeaders: picked(headers, Object.keys(responseHeaders)) }),
  }
}

// A response to HEAD has no body, and a handler may send errors in another form.
function messageOf(payload: string): Pick<Outcome, 'message'> {
  const { message } = payload === '' ? {} : (JSON.parse(payload) as { message?: string })
  return message === undefined ? {} : { message }
}

// Picks fields by name; null for a missing one.
function picked(node: Node, names: readonly string[]): Node {
  return Object.fromEntries(names.map((name) => [name, node[name] ?? null]))
}

/** Returns the outcome that a call expects. */
export function expectedOf({ request, headers, body, text, response, ...expected }: Call): Outcome {
  return expected
}

/** Removes the locations from the line of a refusal. */
export function withoutPlace(line: string): string {
  return line.replace(/^\S+?\.yaml:\d+:\d+:? /, '').replace(/: the other is at \S+$/, '')
}
