// The only reader of openapi.yaml. It turns the document into what the server asks of it, and refuses,
// with every problem named, a document that the server could not keep its word by.

import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { components } from '../../generated/types.js'
import { OperatorError } from '../operator-error.js'

/** A machine-readable error code of the contract. */
export type ErrorCode = components['schemas']['ErrorCode']

/** A JSON Schema. */
export type Schema = { readonly [keyword: string]: unknown }

/** A header that a response declares. */
export interface Header {
  readonly name: string
  readonly required: boolean
  readonly schema: Schema
  /** The server sets it on its own; a handler neither has to nor can. */
  readonly setByServer: boolean
}

/** A response that an operation declares. */
export interface Response {
  /** Three digits, a class like `4xx`, or `default`. */
  readonly status: string
  readonly headers: readonly Header[]
  readonly mediaTypes: readonly string[]
}

/** A parameter that an operation declares. */
export interface Parameter {
  readonly name: string
  readonly in: string
  readonly hasDefault: boolean
}

/** When an operation was deprecated, when it goes, and the operation to use instead. */
export interface Deprecation {
  readonly deprecatedAt: Date
  readonly sunset: Date | undefined
  readonly successor: string | undefined
}

/** One operation of the contract. */
export interface Operation {
  readonly id: string
  readonly method: string
  readonly summary: string | undefined
  /** As in the contract, without the prefix: `/pets/{petId}`. */
  readonly path: string
  /** Alternatives, each the names of the schemes that must all pass; an empty one makes it public. */
  readonly security: readonly (readonly string[])[]
  readonly parameters: readonly Parameter[]
  readonly body: { readonly required: boolean; readonly mediaTypes: readonly string[] } | undefined
  readonly responses: ReadonlyMap<string, Response>
  readonly deprecation: Deprecation | undefined
}

/** Requests a minute and a day. */
export interface Quotas {
  readonly perMinute: number
  readonly perDay: number
}

/** How many requests are answered (specification, section 8). */
export interface RateLimits {
  /** By plan; `custom` where they are agreed per key. */
  readonly plans: ReadonlyMap<string, Quotas | 'custom'>
  /** Of callers without a valid key, by address. */
  readonly anonymous: { readonly perMinute: number }
  /** More rejections than these within these seconds ban a key for those. */
  readonly ban: { readonly rejections: number; readonly withinSeconds: number; readonly banSeconds: number }
}

/** Everything the server takes from the contract. */
export interface Contract {
  /** The document as parsed, for glue and for `/openapi.json`. */
  readonly document: object
  /** The document as written, for `/openapi.yaml`. */
  readonly text: string
  readonly title: string
  readonly version: string
  /** The path of the servers' addresses: where the operations are mounted. */
  readonly prefix: string
  readonly operations: ReadonlyMap<string, Operation>
  readonly securitySchemes: ReadonlyMap<string, { readonly type: string; readonly scheme?: string }>
  /** HTTP status by error code. */
  readonly errorStatuses: ReadonlyMap<ErrorCode, number>
  readonly rateLimits: RateLimits
  /** In bytes. */
  readonly limits: { readonly body: number; readonly url: number; readonly header: number }
}

/** The contract is unusable; the message has one line per problem. */
export class ContractError extends OperatorError {
  override name = 'ContractError'
}

// Reserved by the language, or the name of the module that all handlers share.
const takenNames = new Set(
  `handler arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected public
  return static super switch this throw true try typeof var void while with yield`.split(/\s+/),
)

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

/**
 * Reads and checks the contract.
 * @throws {ContractError} naming every problem at once.
 */
export function readContract(file: string): Contract {
  const text = readFileSync(file, 'utf8')
  const parsed = parseDocument(text)
  if (parsed.errors.length > 0) throw new ContractError(`${file}: ${parsed.errors.map(String).join('\n')}`)
  const document: unknown = parsed.toJS()
  if (typeof document !== 'object' || document === null)
    throw new ContractError(`${file}: it holds no document`)
  return new Reader(file, text, document as Node).contract()
}

// The shape that is read, before it is checked: any part may be missing.
interface Node {
  readonly [key: string]: unknown
}

class Reader {
  readonly #problems = new Set<string>()

  constructor(
    readonly file: string,
    readonly text: string,
    readonly document: Node,
  ) {}

  contract(): Contract {
    const { document, text } = this
    const info = this.#node(document.info)
    const contract: Contract = {
      document,
      text,
      title: String(info.title),
      version: String(info.version),
      prefix: this.#prefix(),
      securitySchemes: new Map(Object.entries(this.#node(this.#components().securitySchemes))) as never,
      operations: this.#operations(),
      errorStatuses: this.#errorStatuses(),
      rateLimits: this.#rateLimits(),
      limits: this.#limits(),
    }
    this.#checkSuccessors(contract.operations)
    this.#checkSecurity(contract)
    if (this.#problems.size > 0) {
      throw new ContractError([...this.#problems].map((problem) => `${this.file}: ${problem}`).join('\n'))
    }
    return contract
  }

  #problem(text: string): void {
    this.#problems.add(text)
  }

  #components(): Node {
    return this.#node(this.document.components)
  }

  // A mapping, with a local `$ref` followed; an absent one reads as empty.
  #node(value: unknown, refs: readonly string[] = []): Node {
    if (typeof value !== 'object' || value === null) return {}
    const { $ref } = value as Node
    if (typeof $ref !== 'string') return value as Node
    if (!refs.includes($ref)) return this.#node(this.#resolve($ref), [...refs, $ref])
    this.#problem(`$ref ${$ref} leads back to itself`)
    return {}
  }

  #resolve(ref: string): unknown {
    const keys = ref.replace(/^#\//, '').split('/')
    const target = keys.reduce<unknown>(
      (at, key) => (at as Node | undefined)?.[unescapePointer(key)],
      ref.startsWith('#/') ? this.document : undefined,
    )
    if (target === undefined) this.#problem(`$ref ${ref} leads nowhere`)
    return target
  }

  #prefix(): string {
    const servers = (this.document.servers as Node[] | undefined) ?? []
    const paths = servers.map((server) => {
      const variables = this.#node(server.variables)
      const url = String(server.url).replace(/\{(\w+)\}/g, (_, name) =>
        String(this.#node(variables[name]).default),
      )
      return new URL(url, 'http://localhost').pathname.replace(/\/$/, '')
    })
    if (new Set(paths).size > 1)
      this.#problem(`the servers' addresses end in different paths: ${paths.join(', ')}`)
    return paths[0] ?? ''
  }

  #operations(): Map<string, Operation> {
    const operations = new Map<string, Operation>()
    for (const [path, value] of Object.entries(this.#node(this.document.paths))) {
      const item = this.#node(value)
      for (const method of methods) {
        if (item[method] === undefined) continue
        const operation = this.#operation(path, method, item, this.#node(item[method]))
        if (operations.has(operation.id)) this.#problem(`two operations are called ${operation.id}`)
        operations.set(operation.id, operation)
      }
    }
    return operations
  }

  #operation(path: string, method: string, item: Node, node: Node): Operation {
    const place = `${method.toUpperCase()} ${path}`
    if (typeof node.operationId !== 'string') this.#problem(`${place} has no operationId`)
    // It names a file and what that file exports.
    else if (!/^[A-Za-z_$][\w$]*$/.test(node.operationId) || takenNames.has(node.operationId)) {
      this.#problem(`${place}: operationId ${node.operationId} cannot name a module and what it exports`)
    }
    // glue lets an operation's parameters replace those of its path, and routes only \w+ names.
    if (item.parameters !== undefined) this.#problem(`${path}: write its parameters under each operation`)
    if (/\{[^}]*[^\w}][^}]*\}/.test(path)) {
      this.#problem(`${path}: a path parameter's name is letters, digits and underscores`)
    }
    return {
      id: String(node.operationId),
      method: method.toUpperCase(),
      summary: node.summary as string | undefined,
      path,
      security: this.#security(node),
      parameters: this.#parameters(node),
      body: this.#body(node),
      responses: this.#responses(node),
      deprecation: node.deprecated === true ? this.#deprecation(place, node) : undefined,
    }
  }

  #security(operation: Node): string[][] {
    const alternatives = (operation.security ?? this.document.security ?? []) as Node[]
    return alternatives.map((alternative) => Object.keys(alternative))
  }

  #body(operation: Node): Operation['body'] {
    if (operation.requestBody === undefined) return undefined
    const body = this.#node(operation.requestBody)
    return { required: body.required === true, mediaTypes: Object.keys(this.#node(body.content)) }
  }

  #parameters(operation: Node): Parameter[] {
    const parameters = (operation.parameters ?? []) as unknown[]
    return parameters.map((value) => {
      const parameter = this.#node(value)
      const hasDefault = this.#node(parameter.schema).default !== undefined
      return { name: String(parameter.name), in: String(parameter.in), hasDefault }
    })
  }

  #responses(operation: Node): Map<string, Response> {
    const responses = Object.entries(this.#node(operation.responses))
    return new Map(
      responses.map(([key, value]) => {
        const response = this.#node(value)
        const status = key.toLowerCase()
        return [
          status,
          { status, headers: this.#headers(response), mediaTypes: Object.keys(this.#node(response.content)) },
        ]
      }),
    )
  }

  #headers(response: Node): Header[] {
    return Object.entries(this.#node(response.headers)).map(([name, value]) => {
      const header = this.#node(value)
      return {
        name,
        required: header.required === true,
        schema: this.#node(header.schema),
        setByServer: header['x-set-by-server'] === true,
      }
    })
  }

  #deprecation(place: string, operation: Node): Deprecation | undefined {
    if (operation['x-deprecated-at'] === undefined) {
      this.#problem(`${place} is deprecated but has no x-deprecated-at`)
    }
    const deprecatedAt = this.#date(place, 'x-deprecated-at', operation)
    if (deprecatedAt === undefined) return undefined
    const sunset = this.#date(place, 'x-sunset', operation)
    if (sunset !== undefined && sunset < deprecatedAt)
      this.#problem(`${place} has its x-sunset before its x-deprecated-at`)
    return { deprecatedAt, sunset, successor: operation['x-successor'] as string | undefined }
  }

  // A full-date (RFC 3339): the first instant of that day, UTC.
  #date(place: string, key: string, operation: Node): Date | undefined {
    const value = operation[key]
    if (value === undefined) return undefined
    const date = new Date(`${value}T00:00:00Z`)
    // A day that the month does not have would roll over into the next.
    if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${value}T`)) return date
    this.#problem(`${place}: ${key} must be a date like 2030-12-05`)
    return undefined
  }

  #checkSuccessors(operations: ReadonlyMap<string, Operation>): void {
    for (const { id, deprecation } of operations.values()) {
      const successor = deprecation?.successor
      if (successor !== undefined && !operations.has(successor)) {
        this.#problem(`${id}: its x-successor ${successor} is no operation`)
      } else if (successor !== undefined && operations.get(successor)?.path.includes('{')) {
        this.#problem(`${id}: its x-successor ${successor} has path parameters, so no link can lead there`)
      }
    }
  }

  #checkSecurity({ operations, securitySchemes }: Contract): void {
    for (const { id, security } of operations.values()) {
      for (const scheme of security.flat()) {
        if (!securitySchemes.has(scheme))
          this.#problem(`${id} asks for the unknown security scheme ${scheme}`)
      }
    }
  }

  #errorStatuses(): Map<ErrorCode, number> {
    const schema = this.#node(this.#node(this.#components().schemas).ErrorCode)
    const codes = (schema.enum as string[] | undefined) ?? []
    const statuses = this.#node(schema['x-enumStatuses'])
    for (const code of new Set([...codes, ...Object.keys(statuses)])) {
      if (!codes.includes(code)) this.#problem(`ErrorCode: ${code} has a status but is not in the enum`)
      else if (!isStatus(statuses[code]))
        this.#problem(`ErrorCode: x-enumStatuses gives ${code} no status from 400 to 599`)
    }
    return new Map(Object.entries(statuses)) as Map<ErrorCode, number>
  }

  #rateLimits(): RateLimits {
    const limits = this.#node(this.document['x-rate-limits'])
    const anonymous = this.#counts('x-rate-limits: anonymous', limits.anonymous, ['perMinute'])
    const ban = this.#counts('x-rate-limits: ban', limits.ban, ['rejections', 'withinSeconds', 'banSeconds'])
    return { plans: this.#plans(this.#node(limits.plans)), anonymous, ban }
  }

  #plans(plans: Node): Map<string, Quotas | 'custom'> {
    for (const [name, plan] of Object.entries(plans)) {
      if (plan !== 'custom') this.#counts(`x-rate-limits: plan ${name}`, plan, ['perMinute', 'perDay'])
    }
    if (Object.keys(plans).length === 0) this.#problem('x-rate-limits names no plans')
    return new Map(Object.entries(plans)) as Map<string, Quotas | 'custom'>
  }

  #limits(): Contract['limits'] {
    const limits = this.#counts('x-limits', this.document['x-limits'], [
      'bodyBytes',
      'urlBytes',
      'headerBytes',
    ])
    return { body: limits.bodyBytes, url: limits.urlBytes, header: limits.headerBytes }
  }

  #counts<Name extends string>(place: string, value: unknown, names: readonly Name[]): Record<Name, number> {
    const node = this.#node(value)
    if (!names.every((name) => isCount(node[name]))) {
      this.#problem(`${place} needs ${names.join(' and ')}, whole numbers above 0`)
    }
    return node as Record<Name, number>
  }
}

function unescapePointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

function isStatus(value: unknown): value is number {
  return isCount(value) && value >= 400 && value <= 599
}
