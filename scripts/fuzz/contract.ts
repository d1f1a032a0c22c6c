// Reads what the fuzzer needs from openapi.yaml. It does not use the readers of src/, so that it does not share their mistakes.

import { $RefParser } from '@apidevtools/json-schema-ref-parser'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { OperatorError } from '../../src/lib/operator-error.js'
import { servedMethods } from '../../src/openapi/index.js'

/** A JSON Schema without references. */
export type Schema = { readonly [keyword: string]: unknown }

/** Returns what is wrong with a value, if anything. */
export type Validate = (value: unknown) => string | undefined

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  /** The parameter's own, or that of its `content`. */
  readonly schema: Schema
  readonly style: string
  readonly explode: boolean
  /** Whether it has a `content`. */
  readonly isJson: boolean
}

export interface HeaderRule {
  readonly name: string
  readonly required: boolean
  readonly validate: Validate
}

export interface ResponseRule {
  readonly headers: readonly HeaderRule[]
  /** By media type; empty if no body is declared. */
  readonly bodies: ReadonlyMap<string, Validate>
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** Includes the path of the server URL. */
  readonly path: string
  readonly isSecured: boolean
  readonly isDeprecated: boolean
  /** Whether it takes an `Idempotency-Key`. */
  readonly isIdempotent: boolean
  readonly parameters: readonly Parameter[]
  readonly body: { readonly required: boolean; readonly schemas: ReadonlyMap<string, Schema> } | undefined
  /** By status, class (`4xx`) or `default`. */
  readonly responses: ReadonlyMap<string, ResponseRule>
}

export interface Contract {
  readonly prefix: string
  readonly operations: readonly Operation[]
  readonly error: Validate
  /** HTTP status by error code. */
  readonly errorStatuses: Readonly<Record<string, number>>
  /** Headers required in every declared response of every operation; a response to an unknown path has them too. */
  readonly commonHeaders: readonly HeaderRule[]
  /** In bytes. */
  readonly limits: { readonly body: number; readonly url: number; readonly header: number }
}

interface Node {
  readonly [key: string]: Node
}

const methods = [...servedMethods, 'trace']

/**
 * Reads a contract.
 * @throws {OperatorError} if a schema is recursive
 */
export async function readFuzzContract(file: string): Promise<Contract> {
  const document: Node = await $RefParser.dereference(file, { dereference: { onCircular: refuse } })
  const prefix = prefixOf(document)
  const operations = entries(document.paths).flatMap(([path, item]) =>
    entries(item)
      .filter(([method]) => methods.includes(method))
      .map(([method, node]) => readOperation(prefix + path, method, node, item, document)),
  )
  const limits = document['x-limits'] as unknown as Record<string, number> | undefined
  const { Error: error, ErrorCode: codes } = document.components?.schemas ?? {}
  return {
    prefix,
    operations,
    error: compile(error as Schema),
    errorStatuses: codes?.['x-enumStatuses'] as unknown as Contract['errorStatuses'],
    commonHeaders: commonHeaders(operations),
    limits: { body: limits?.bodyBytes ?? 0, url: limits?.urlBytes ?? 0, header: limits?.headerBytes ?? 0 },
  }
}

// A recursive schema would need generators that limit their depth.
function refuse(place: string): never {
  const pointer = place.slice(place.indexOf('#'))
  throw new OperatorError(`${pointer} is recursive, which the fuzzer does not support.`)
}

const ajv = new Ajv2020({ strict: false, logger: false, allErrors: false, validateFormats: true })
ajvFormats.default(ajv)
const textAjv = new Ajv2020({ strict: false, logger: false, coerceTypes: true })
ajvFormats.default(textAjv)

/** Compiles a schema for JSON values. */
export function compile(schema: Schema): Validate {
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'body' }))
}

// Compiles a schema for a header's text.
function compileText(schema: Schema): Validate {
  const validate = textAjv.compile({ type: 'object', properties: { value: schema } })
  return (value) => (validate({ value }) ? undefined : textAjv.errorsText(validate.errors, { dataVar: '' }))
}

function readOperation(path: string, method: string, node: Node, item: Node, document: Node): Operation {
  const parameters = [...list(item.parameters), ...list(node.parameters)]
  const security = list(node.security ?? document.security)
  return {
    id: String(node.operationId),
    method: method.toUpperCase(),
    path,
    isSecured: security.length > 0 && security.every((each) => Object.keys(each).length > 0),
    isDeprecated: isTrue(node.deprecated),
    isIdempotent: isTrue(node['x-idempotent']),
    parameters: parameters.filter((each) => !isIgnored(each)).map(readParameter),
    body: node.requestBody && {
      required: isTrue(node.requestBody.required),
      schemas: new Map(
        entries(node.requestBody.content).map(([type, { schema }]) => [type, schema as Schema]),
      ),
    },
    responses: new Map(
      entries(node.responses).map(([status, response]) => [status.toLowerCase(), responseRule(response)]),
    ),
  }
}

// OpenAPI ignores these header parameters (3.1.1, section 4.8.12.2.1).
function isIgnored(node: Node): boolean {
  const isElsewhere = ['accept', 'content-type', 'authorization'].includes(String(node.name).toLowerCase())
  return isElsewhere && String(node.in) === 'header'
}

function readParameter(node: Node): Parameter {
  const location = String(node.in) as Parameter['in']
  const style = String(node.style ?? (location === 'query' || location === 'cookie' ? 'form' : 'simple'))
  const [media] = Object.values(node.content ?? {})
  return {
    name: String(node.name),
    in: location,
    required: isTrue(node.required),
    schema: (node.schema ?? media?.schema ?? {}) as Schema,
    style,
    explode: node.explode === undefined ? style === 'form' : isTrue(node.explode),
    isJson: media !== undefined,
  }
}

function responseRule(node: Node): ResponseRule {
  return {
    headers: entries(node.headers).map(([name, header]) => ({
      name: name.toLowerCase(),
      required: isTrue(header.required),
      validate: compileText((header.schema ?? {}) as Schema),
    })),
    bodies: new Map(
      entries(node.content).map(([type, { schema }]) => [type, compile((schema ?? {}) as Schema)]),
    ),
  }
}

function commonHeaders(operations: readonly Operation[]): HeaderRule[] {
  const named = operations.flatMap(({ responses }) =>
    [...responses].filter(([status]) => status !== 'default'),
  )
  const [first = [], ...others] = named.map(([, { headers }]) => headers.filter(({ required }) => required))
  return first.filter(({ name }) => others.every((headers) => headers.some((each) => each.name === name)))
}

function prefixOf(document: Node): string {
  const server = list(document.servers)[0]
  const url = String(server?.url).replace(/\{([^{}]+)\}/g, (_, name) =>
    String(server?.variables?.[name]?.default),
  )
  return new URL(url, 'http://localhost').pathname.replace(/\/$/, '')
}

function entries(node: Node | undefined): [string, Node][] {
  return Object.entries(node ?? {})
}

function list(node: unknown): Node[] {
  return (node ?? []) as Node[]
}

function isTrue(node: unknown): boolean {
  return node === true
}
