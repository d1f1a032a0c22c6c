// Starts a contract on a bare Fastify, mounted by the engine alone: no database, and any key passes.

import './valid-specifications.js'
import {
  type Check,
  type Contract,
  contractFiles,
  documentation,
  errorHandler,
  mount,
  notFoundHandler,
  notImplemented,
  type Operation,
} from 'contract-engine'
import { type ReadContract, readContract } from 'contract-engine/compile'
import { type Answer, type CallOptions, send } from 'contract-engine/lib/send'
import { ownErrorStatuses } from 'contract-engine/tools'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { stringify } from 'yaml'

export interface Engine {
  readonly app: FastifyInstance
  readonly contract: Contract
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The log lines so far, parsed. */
  readonly log: Record<string, unknown>[]
  /** Calls an operation by its path. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
}

/** A handler of a test, with the parts of the request and of the context that tests read. */
export type Handler = (request: HandlerRequest, context: { contentType?: string }) => Promise<unknown>

export interface HandlerRequest {
  readonly params: object
  readonly query: object
  readonly headers: object
  readonly cookies: object
  // biome-ignore lint/suspicious/noExplicitAny: tests receive bodies of any shape
  readonly body: any
  readonly accept?: string
}

/** Mounts a contract on a bare Fastify, as the engine's page shows. */
export async function buildEngine(
  contract: Contract,
  handlerOf: (operation: Operation) => unknown,
  loggerInstance?: FastifyBaseLogger,
  checks: Readonly<Record<string, Check>> = anyKeyFor(contract),
): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(loggerInstance && { loggerInstance }),
    frameworkErrors: errorHandler(contract),
  })
  app.setErrorHandler(errorHandler(contract))
  app.setNotFoundHandler(notFoundHandler(app, contract))
  contractFiles(app, contract)
  documentation(app, contract)
  const handlers = [...contract.operations.values()].map((each) => [each.name, handlerOf(each)])
  await mount(app, {
    contract,
    handlers: Object.fromEntries(handlers),
    security: checks,
    context: ({ mediaType }) => ({ contentType: mediaType }),
  })
  return app
}

function anyKeyFor({ securitySchemes }: Contract): Readonly<Record<string, Check>> {
  return Object.fromEntries([...securitySchemes.keys()].map((name) => [name, anyKey]))
}

/** A check that any key passes. */
export const anyKey: Check = {
  caller: () => ({ scopes: new Set() }),
  errors: { missing: { code: 'no_key', message: 'Send a key.' } },
}

/**
 * Starts a server of a contract with these handlers, and stubs for other operations. The end of the test
 * closes it.
 * @param build default: the engine alone
 */
export async function startEngine<Read extends Contract>(
  t: Test,
  contract: Read,
  handlers: Readonly<Record<string, Handler>>,
  build: (
    contract: Read,
    handlerOf: (operation: Operation) => unknown,
    log?: FastifyBaseLogger,
  ) => Promise<FastifyInstance> = buildEngine,
): Promise<Engine> {
  const log: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const handlerOf = ({ name }: { name: string }) => handlers[name] ?? notImplemented(name)
  const app = await build(contract, handlerOf, logger as FastifyBaseLogger)
  t.teardown(() => app.close())
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const call: Engine['call'] = (method, path, { headers = {}, body } = {}) =>
    send(`${origin}${contract.prefix}${path}`, method, headers, body)
  return { app, contract, origin, log, call }
}

/** Reads a contract from memory. */
export function contractOf(document: object, file = 'openapi.yaml'): Promise<ReadContract> {
  const text = stringify({ openapi: '3.1.0', info: { title: 'Values', version: '1.0.0' }, ...document })
  return readContract(file, async () => text)
}

/**
 * Returns a contract with these operations, each at the path of its name, and with the server's error body.
 */
export function contractWith(
  operations: Readonly<Record<string, object>>,
  more: object = {},
): Promise<ReadContract> {
  const { schemas = {}, ...others } = more as { schemas?: object }
  const paths: Record<string, object> = {}
  for (const [operationId, route] of Object.entries(operations)) {
    const { method = 'post', path = `/${operationId}`, ...rest }: Route = route
    paths[path] = { ...paths[path], [method]: { operationId, ...rest } }
  }
  return contractOf({
    paths,
    components: { schemas: { ...errors, ...schemas } },
    ...others,
  })
}

interface Route {
  readonly method?: string
  readonly path?: string
}

/** The status of each error code: the engine's own, and one for handlers. */
const statuses = { ...ownErrorStatuses, not_here: 404 }
const errors = {
  Error: {
    type: 'object',
    required: ['code', 'message', 'status'],
    additionalProperties: false,
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode' },
      message: { type: 'string' },
      status: { type: 'integer' },
    },
  },
  ErrorCode: { type: 'string', enum: Object.keys(statuses), 'x-enumStatuses': statuses },
}

/** Responses of an operation: success without a body, and the error body for any other status. */
export const anyError = {
  description: 'An error.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}
export const done = { 204: { description: 'Done.' }, default: anyError }
