// The features of OpenAPI, each as a contract of its own, and what becomes of it: generate refuses it with a line, or a server
// is built of it and called.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { parse as parseJson, stringify } from 'lossless-json'
import { parse, parseDocument } from 'yaml'
import { ContractError } from '../../src/contract/contract-error.js'
import { unsupportedSecurity } from '../../src/contract/security.js'
import type { Contract, Operation } from '../../src/contract/types.js'
import { notImplemented } from '../../src/handlers/handler.js'
import { exactNumber, narrowed } from '../../src/lib/exact-number.js'
import { checkContract } from '../generate/contract.js'
import { generateOperations } from '../generate/operations.js'
import { readyServer } from '../generate/server.js'
import { generateTypes } from '../generate/types.js'
import { makeTemporaryDirectory } from '../lib/directory.js'

type Node = Readonly<Record<string, unknown>>

/** One feature, as it stands in features.yaml. */
export interface Feature {
  readonly area: string
  readonly feature: string
  /** Of OpenAPI 3.1.1, or of JSON Schema. */
  readonly section: string
  /** What is put over the smallest contract. */
  readonly document?: Node
  /** The whole contract, where it matters how it is written. */
  readonly text?: string
  /** Other files of the contract. */
  readonly files?: Readonly<Record<string, string>>
  /** For `POST /values`: the schema of a body of JSON. */
  readonly schema?: unknown
  /** For `POST /values`: its body. */
  readonly requestBody?: unknown
  /** For `GET /values`, or `GET /values/{v}`: a parameter called `v`, unless it says otherwise. */
  readonly parameter?: Node
  /** For `GET /values`: the answers. */
  readonly responses?: Node
  readonly components?: Node
  readonly calls?: readonly Call[]
  /** Its operations are not written. */
  readonly planned?: boolean
  /** The line of generate, without its place. */
  readonly refused?: string
}

/** A request, and what comes of it: what the handler is given, the answer that it gives, or a refusal. */
export interface Call {
  /** `GET /values`, unless the feature has a body. */
  readonly request?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly text?: string
  /** What the handler answers; without one, what it was given. */
  readonly answer?: Node
  /** Parts of what the handler is given. */
  readonly given?: Node
  /** The body of the answer, as text. */
  readonly answered?: string
  /** Some of the headers of the answer. */
  readonly answeredHeaders?: Node
  /** The message of the refusal. */
  readonly message?: string
  /** 200, or 400 with a message. */
  readonly status?: number
}

/** What a call came to, in the words of the call. */
export type Outcome = Pick<Call, 'given' | 'answered' | 'answeredHeaders' | 'message' | 'status'>

/** What became of a feature. */
export interface Result {
  /** What generate says, if it refuses: each line with its place. */
  readonly refused?: readonly string[]
  /** Of each call. */
  readonly outcomes: readonly Outcome[]
}

/** The features that are kept beside this file. */
export async function readFeatures(): Promise<Feature[]> {
  const text = await readFile(path.join(import.meta.dirname, 'features.yaml'), 'utf8')
  const areas = exact(parse(text, { intAsBigInt: true, merge: true })) as Record<
    string,
    Omit<Feature, 'area'>[]
  >
  return Object.entries(areas).flatMap(([area, rows]) => rows.map((row) => ({ area, ...row })))
}

/** The contract of a feature, as YAML. */
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
  200: { description: 'What the handler was given.', content: { 'application/json': { schema: {} } } },
  '4XX': { description: 'A refusal.' },
}

/** Runs a feature: generate's own checks, then a server and its calls. */
export async function runFeature(feature: Feature): Promise<Result> {
  const { directory, remove } = await makeTemporaryDirectory()
  try {
    for (const [name, text] of Object.entries({ ...feature.files, 'openapi.yaml': contractOf(feature) }))
      await writeFile(path.join(directory, name), text)
    let outcomes: Outcome[] = []
    const { contract } = await checkContract(path.join(directory, 'openapi.yaml'), async (contract) => {
      outcomes = await runCalls(feature, contract)
      return []
    })
    generateOperations(contract)
    await generateTypes(contract)
    return { outcomes }
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    const folder = `${path.relative(process.cwd(), directory)}/`
    return { refused: error.message.replaceAll(folder, '').split('\n'), outcomes: [] }
  } finally {
    await remove()
  }
}

async function runCalls(feature: Feature, contract: Contract): Promise<Outcome[]> {
  let answer: Node | undefined
  const handlerOf = (operation: Operation) =>
    feature.planned === true || unsupportedSecurity(operation, contract) !== undefined
      ? notImplemented(operation.name as never)
      : async (request: Node) => answer ?? { status: 200, body: shown(request, operation) }
  const app = await readyServer(contract, handlerOf)
  const outcomes: Outcome[] = []
  for (const each of feature.calls ?? []) {
    answer = each.answer
    outcomes.push(outcomeOf(each, await app.inject(requestOf(each, feature))))
  }
  await app.close()
  return outcomes
}

// Of the headers those that are declared; of bytes their text.
function shown(request: Node, { parameters }: Operation): Node {
  const names = parameters.filter((each) => each.in === 'header').map(({ name }) => name.toLowerCase())
  const headers = Object.entries(request.headers as Node).filter(([name]) => names.includes(name))
  return { ...(withText(request) as Node), headers: Object.fromEntries(headers) }
}

function withText(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes of ${Buffer.from(value).toString()}`
  if (Array.isArray(value)) return value.map(withText)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withText(each)]))
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

// In the words of the call, as much as it speaks of.
function outcomeOf(
  { given, answered, answeredHeaders }: Call,
  { statusCode, headers, payload }: LightMyRequestResponse,
): Outcome {
  const isRefused = statusCode >= 400
  const read =
    isRefused || given === undefined
      ? {}
      : (parseJson(payload, undefined, { parseNumber: exactNumber }) as Node)
  return {
    ...(statusCode !== (isRefused ? 400 : 200) && { status: statusCode }),
    ...(isRefused && { message: String((JSON.parse(payload) as Node).message) }),
    ...(given && !isRefused && { given: picked(read, Object.keys(given)) }),
    ...(answered !== undefined && { answered: payload }),
    ...(answeredHeaders && { answeredHeaders: picked(headers, Object.keys(answeredHeaders)) }),
  }
}

function picked(node: Node, names: readonly string[]): Node {
  return Object.fromEntries(names.map((name) => [name, node[name]]))
}

// A bigint where a number would round it.
function exact(value: unknown): unknown {
  if (typeof value === 'bigint') return narrowed(value)
  if (Array.isArray(value)) return value.map(exact)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, exact(each)]))
}

/** What a call should come to. */
export function expectedOf({ given, answered, answeredHeaders, message, status }: Call): Outcome {
  return {
    ...(status !== undefined && { status }),
    ...(message !== undefined && { message }),
    ...(given && { given }),
    ...(answered !== undefined && { answered }),
    ...(answeredHeaders && { answeredHeaders }),
  }
}
