// Mounts a contract on a Fastify instance: fastify-openapi-glue makes a route of every operation, with the
// options that routeOptions returns. Read them for the life of a request. Whatever the contract or the
// handlers lack is collected, and stops the startup.

import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  onRequestHookHandler,
  onSendHookHandler,
  RouteOptions,
} from 'fastify'
import glue from 'fastify-openapi-glue'
import type { Contract, Operation } from '../document/contract.js'
import { ContractError, type Problem } from '../document/contract-error.js'
import type { AnySchema } from '../document/keywords.js'
import { essence } from '../document/media-types.js'
import { problemOf } from '../document/methods.js'
import { routeName } from '../document/names.js'
import { ownError } from '../document/request-error.js'
import { refusesUnacceptable, successContents } from '../document/responses.js'
import { unmetSecurity } from '../document/security.js'
import { takesUploads } from '../document/uploads.js'
import { type Address, type AddressOptions, addressOf } from './base/address.js'
import { checkUrl } from './base/errors.js'
import { hasRoute, notFoundHandler } from './base/not-found.js'
import { isStub } from './base/stubs.js'
import { glueSpecification, isOfGlue } from './glue/glue-specification.js'
import { createPreference } from './request/accept.js'
import { BodyMemory } from './request/body-memory.js'
import { createParameterReader } from './request/parameter-styles.js'
import { receiveBody } from './request/receive.js'
import { decorateRequests, receivedBy, responseTo } from './request/request-parts.js'
import { requestSchemas } from './request/request-schemas.js'
import { checkMediaType, checkRequest, parseBody } from './request/request-validation.js'
import { uploadOf } from './request/upload.js'
import { createAcceptances } from './response/acceptances.js'
import {
  type Addition,
  additionProblems,
  missingCodes,
  ownAddition,
  provedHeaders,
} from './response/additions.js'
import {
  addSunsetWarnings,
  type DeprecationHeaders,
  deprecationHeaders,
  sunsetCheck,
} from './response/deprecation.js'
import { type ErrorBodyOf, type ErrorForm, type ErrorForms, errorForms } from './response/error-forms.js'
import { type ErrorHandler, errorHandler } from './response/error-response.js'
import { createResponseSchemas } from './response/response-schemas.js'
import { createResponseChecks, type ResponseCheck } from './response/response-validation.js'
import {
  type AnyHandler,
  createRouteHandler,
  type ResponseParts,
  type RouteHandlerParts,
} from './route-handler.js'
import { securityAddition } from './security/addition.js'
import { ambiguities } from './security/ambiguities.js'
import type { CheckList } from './security/check.js'
import type { CookieOptions } from './security/cookie-guard.js'
import { createSecurity, Security } from './security/security.js'
import type { Verdict } from './security/verdict.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    address?: Address
    /** Sent with every response of the operation, errors included. */
    deprecation?: DeprecationHeaders | undefined
  }
}

export interface MountParts<Resource> extends RouteHandlerParts<Resource> {
  /** The handler of each operation, by the operation's name. */
  readonly handlers: object
  /**
   * The check of each security scheme that operations with a handler require, by the scheme's name; or the
   * security made of them, for an application that authenticates requests before they reach their operation.
   */
  readonly security?: CheckList | Security
  /** Whose pages may use credentials in cookies; a `Security` has been told by itself. */
  readonly cookieOrigins?: CookieOptions['cookieOrigins']
  /** What the bodies of all requests in flight may hold together. By default any number of bytes. */
  readonly bodies?: BodyMemory
  /** What the server adds to the responses, to be checked against the contract. By default nothing. */
  readonly additions?: readonly Addition[]
  /** Where callers reach the operations. By default each request says it. */
  readonly address?: AddressOptions | undefined
  /** Makes the bodies of errors, if the contract has another form for them than the engine. */
  readonly errorBody?: ErrorBodyOf | undefined
  /** Responds to the errors of operations. By default `errorHandler(contract, { errorBody })`. */
  readonly errorHandler?: ErrorHandler
}

/** Throws, or rejects, unless the request may pass. */
type Check = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
/** A problem; one that was found when a schema was compiled may be located more exactly. */
type Found = Problem & { readonly isOfSchema?: boolean }
/** By their text, so that a problem of several operations is reported once. */
type Problems = Map<string, Found>
/** What the operations of a contract share. */
type Shared<Resource> = Omit<MountParts<Resource>, 'address' | 'security' | 'additions'> &
  ReturnType<typeof createCompilers> & {
    /** By the prefix of operations. */
    readonly addresses: ReadonlyMap<string, Address>
    readonly security: Security
    /** All but the engine's own. */
    readonly additions: readonly Addition[]
    readonly problems: Problems
    readonly errorForms: ErrorForms
    /** Of an operation, percent-decoded: that of the application, and its own. */
    readonly prefixOf: (operation: Operation) => string
    readonly refuseUnknown: (request: FastifyRequest) => never
  }

/**
 * Adds every operation of a contract to a Fastify instance, in a scope of its own.
 * @throws {ContractError} here or when the server is ready: an operation has no handler or cannot be served
 */
export async function mount<Resource>(app: FastifyInstance, parts: MountParts<Resource>): Promise<void> {
  await app.register(async (scope) => {
    const { contract } = parts
    const shared = sharedIn(scope, parts)
    scope.setErrorHandler(parts.errorHandler ?? errorHandler(contract, parts))
    decorateRequests(scope)
    receiveBodies(scope, parts)
    await addRoutes(scope, shared)
    noteSecurity(shared)
    scope.addHook('onReady', async () => {
      const problems = await located([...shared.problems.values()], contract)
      if (problems.length > 0) throw new ContractError(problems, await contract.locate(problems))
    })
    addSunsetWarnings(scope, contract)
  })
}

function sharedIn<Resource>(app: FastifyInstance, parts: MountParts<Resource>): Shared<Resource> {
  const { contract, security: checks = {}, cookieOrigins, additions = [], address } = parts
  const security =
    checks instanceof Security ? checks : createSecurity(contract, checks, { cookieOrigins, address })
  return {
    ...parts,
    ...createCompilers(contract),
    security,
    additions: [securityAddition(security), ...additions],
    problems: new Map(),
    errorForms: errorForms(contract, parts.errorBody),
    addresses: new Map(
      [...byPrefix(contract).keys()].map((own) => [own, addressOf(app, contract, address, own)]),
    ),
    refuseUnknown: notFoundHandler(app, contract),
    prefixOf: ({ prefix }) => app.prefix.replace(/\/$/, '') + decodeURI(prefix),
  }
}

// Most contracts have one prefix.
function byPrefix({ operations }: Contract): ReadonlyMap<string, readonly Operation[]> {
  const groups = new Map<string, Operation[]>()
  for (const operation of operations.values()) {
    const group = groups.get(operation.prefix) ?? []
    groups.set(operation.prefix, group)
    group.push(operation)
  }
  return groups
}

async function addRoutes<Resource>(app: FastifyInstance, shared: Shared<Resource>): Promise<void> {
  const { contract } = shared
  for (const operation of contract.operations.values()) checkIsFree(app, operation, shared)
  for (const [own, operations] of byPrefix(contract)) {
    const prefix = decodeURI(own)
    await app.register(glue, {
      specification: glueSpecification(contract, operations),
      prefix,
      // glue knows only the contract's operations, and adds method and url
      operationResolver: (id: string) =>
        routeOptions(contract.operations.get(id) as Operation, shared) as RouteOptions,
    })
    const others = operations.filter(({ method }) => !isOfGlue(method))
    if (others.length > 0) await app.register(async (scope) => addOthers(scope, others, shared), { prefix })
  }
}

// QUERY and the additional operations of OpenAPI 3.2, of which glue 4.11 makes no routes.
function addOthers<Resource>(
  app: FastifyInstance,
  operations: readonly Operation[],
  shared: Shared<Resource>,
): void {
  for (const operation of operations) {
    const method = operation.method as HTTPMethods
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
    app.route({ ...routeOptions(operation, shared), method, url: operation.route } as RouteOptions)
  }
}

// Bodies of any type: checkMediaType accepts or refuses the type by operation. The declared types are listed
// because glue warns of a type without a parser.
function receiveBodies<Resource>(
  app: FastifyInstance,
  { contract, bodies: memory = new BodyMemory() }: MountParts<Resource>,
): void {
  const declaredBodies = [...contract.operations.values()].flatMap(({ body }) => body ?? [])
  const declared = declaredBodies.flatMap(({ mediaTypes }) => mediaTypes.map(essence))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...new Set(declared), '*'], (request, payload, done) =>
    receiveBody(request, payload, memory, done),
  )
}

// Fastify's own error does not name the operation.
function checkIsFree(
  app: FastifyInstance,
  operation: Operation,
  { prefixOf }: Pick<Shared<never>, 'prefixOf'>,
): void {
  const url = prefixOf(operation) + operation.route
  if (!app.hasRoute({ method: operation.method as HTTPMethods, url })) return
  const { id, method } = operation
  throw new ContractError([
    problemOf(operation, `${id}: ${method} ${url} is a route of the application already`),
  ])
}

function createCompilers({ specification, judges: create }: Contract) {
  const judges = create()
  return {
    judges,
    responseCheckOf: createResponseChecks(judges),
    responseSchemasOf: createResponseSchemas(specification),
  }
}

// A path with an empty parameter is no path of the contract.
function routeCheck<Resource>(
  { path }: Operation,
  { contract, refuseUnknown }: Shared<Resource>,
): (request: FastifyRequest) => void {
  if (!path.includes('{')) return (request) => checkUrl(request, contract)
  return (request) => {
    if (hasRoute(request)) checkUrl(request, contract)
    else refuseUnknown(request)
  }
}

type RouteOptionsOfGlue = Omit<RouteOptions, 'method' | 'url'>

function routeOptions<Resource>(operation: Operation, shared: Shared<Resource>): RouteOptionsOfGlue {
  const { contract, problems, security } = shared
  const handler = handlerOf(operation, shared)
  const isImplemented = !isStub(handler)
  const unmet = unmetSecurity(operation, contract, (name) => security.checks.has(name))
  const lacking = [...operation.unsupported.map((text) => problemOf(operation, text)), ...unmet]
  if (isImplemented) for (const problem of lacking) problems.set(problem.text, problem)
  const responseCheck = checkOf(operation, isImplemented, shared)
  const errorForm = responseCheck && shared.errorForms.of(operation, responseCheck)
  if (responseCheck && errorForm) checkAdditions(operation, responseCheck, errorForm, isImplemented, shared)
  const proved = provedHeaders(operation, contract, shared.additions)
  const deprecation = deprecationHeaders(operation, contract)
  const address = addressFor(operation, shared)
  const check = routeCheck(operation, shared)
  const authorize = securityCheck(operation, unmet[0]?.text, security)
  const first = [
    check,
    authorize,
    ...(deprecation ? [deprecationCheck(deprecation, address)] : []), // errors have them from `config`
  ]
  return {
    config: { operation, address, deprecation, responseCheck, errorForm },
    bodyLimit: operation.limits.body,
    // Fastify adds HEAD to every GET, unless the contract declares a HEAD of its own.
    exposeHeadRoute: !hasHead(operation, contract),
    ...(isImplemented && responseCheck && errorForm
      ? implemented(operation, handler, { check: responseCheck, errorForm, proved }, first, shared)
      : refused(operation, first)),
  }
}

// Responds 501 before the body is read: nothing checks it.
function refused({ id }: Operation, first: readonly Check[]) {
  const refuse: Check = () => {
    throw ownError('not_implemented', `${id} is not implemented.`)
  }
  return { schema: {}, onRequest: hook(...first, refuse), handler: async () => {} }
}

function implemented<Resource>(
  operation: Operation,
  handler: AnyHandler,
  responses: Omit<ResponseParts, 'isExact' | 'acceptances'>,
  first: readonly Check[],
  shared: Shared<Resource>,
) {
  const { contract, judges } = shared
  const prefix = shared.prefixOf(operation)
  const response = collect(operation, shared, () => shared.responseSchemasOf(operation))
  const acceptances = response === undefined ? new Map() : createAcceptances(operation, judges)
  const readParameters = collect(operation, shared, () =>
    createParameterReader(operation, prefix, judges.request),
  )
  const checkType: Check = (request, reply) => {
    request[receivedBy] = operation
    request[responseTo] = reply.raw
    return checkMediaType(request, operation)
  }
  const parse: Check = (request) => parseBody(request, operation)
  return {
    schema: { ...requestSchemas(operation, contract.specification), ...(response && { response }) },
    validatorCompiler: validatorCompiler(operation, shared),
    serializerCompiler: ({ schema }: { schema: unknown }) => judges.writer(schema as object),
    attachValidation: true, // checkRequest reports what it found
    onRequest: hook(...first, sunsetCheck(operation), acceptCheck(operation), checkType),
    preValidation: hook(renamePathParameters(operation), ignoreRange(operation), parse, readParameters),
    preHandler: hook((request) => checkRequest(request, operation)),
    ...(takesUploads(operation) && { onSend: closeIfUnread }),
    handler: createRouteHandler(
      operation,
      handler,
      { ...responses, isExact: response === undefined, acceptances },
      { ...shared, address: addressFor(operation, shared) },
    ),
  }
}

// The rest of a body that its handler did not read is not received: where the next request begins is unknown.
const closeIfUnread: onSendHookHandler = (request, reply, payload, done) => {
  if (uploadOf(request)?.hasArrived === false) reply.header('Connection', 'close')
  done(null, payload)
}

// Where the contract declares a 406. Elsewhere a client gets what there is (RFC 9110, section 12.5.1).
function acceptCheck(operation: Operation): Check | undefined {
  if (!refusesUnacceptable(operation)) return undefined
  const contents = successContents(operation)
  const prefer = createPreference(contents)
  const types = contents.map(({ mediaType }) => mediaType).join(' or ')
  return ({ headers }) => {
    if (prefer(headers.accept) !== undefined) return
    throw ownError('not_acceptable', `The response is of type ${types}, which Accept does not allow.`, {
      headers: { Vary: 'Accept' },
    })
  }
}

// Fastify compiles once all routes are added, and would stop at the first schema that fails.
function validatorCompiler<Resource>(operation: Operation, shared: Shared<Resource>) {
  return ({ schema, httpPart }: { schema: unknown; httpPart?: string }) =>
    collect(operation, shared, () => shared.judges.request(schema as AnySchema, httpPart)) ?? (() => true)
}

function checkOf<Resource>(
  operation: Operation,
  isImplemented: boolean,
  shared: Shared<Resource>,
): ResponseCheck | undefined {
  return collect(operation, shared, () => shared.responseCheckOf(operation, isImplemented))
}

// What the server adds to the responses of an operation must be as it declares them.
function checkAdditions<Resource>(
  operation: Operation,
  check: ResponseCheck,
  form: ErrorForm,
  isImplemented: boolean,
  { contract, additions, problems }: Shared<Resource>,
): void {
  for (const { text, at } of missingCodes(operation, contract, additions)) problems.set(text, { text, at })
  const parts = { check, form, isImplemented }
  const found = additionProblems(operation, parts, contract, [ownAddition, ...additions])
  for (const [problem, each] of found) if (!problems.has(problem)) problems.set(problem, each)
}

// The result of a step, or undefined: its error becomes a problem of the operation.
function collect<Result>(
  operation: Operation,
  { problems }: Pick<Shared<never>, 'problems'>,
  run: () => Result,
): Result | undefined {
  try {
    return run()
  } catch (error) {
    const found =
      error instanceof ContractError
        ? error.problems
        : [problemOf(operation, `${operation.id}: ${(error as Error).message}`)]
    for (const { text, at } of found)
      if (!problems.has(text)) problems.set(text, { text, at, isOfSchema: true })
    return undefined
  }
}

// In the document with its references, which say where a faulty schema is written.
async function located(problems: readonly Found[], { document }: Contract): Promise<readonly Problem[]> {
  const faults = new Set(problems.slice(0, locatedMax).filter(({ isOfSchema }) => isOfSchema))
  if (faults.size === 0) return problems
  const [{ placeOfFault }, { toOpenApi31 }, { isCompilable }] = [
    await import('../compile/fault-place.js'),
    await import('../compile/source/upgrade.js'),
    await import('../compile/code/compilers.js'),
  ]
  const whole = toOpenApi31(document)
  return problems.map((each) => {
    const { text, at } = each
    return { text, at: faults.has(each) ? placeOfFault(whole, at, fails) : at }
  })

  function fails(one: object, schema: AnySchema): boolean {
    return !isCompilable(one, schema)
  }
}

// Of more problems, the operation is named: compiling its schemas one by one takes long.
const locatedMax = 20

function deprecationCheck(headersFor: DeprecationHeaders, address: Address): Check {
  return (request, reply) => {
    const headers = headersFor(address.operationsFor(request))
    for (const name in headers) reply.header(name, headers[name])
  }
}

// All checks as one hook, since Fastify's way from one to the next takes longer than most of them. One that need not
// wait makes no promise: an async function for each would take two, and a turn of the microtask queue.
function hook(...given: readonly (Check | undefined)[]): onRequestHookHandler {
  const checks = given.filter((each) => each !== undefined)
  const runFrom = (first: number, request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    for (let i = first; i < checks.length; i++) {
      const waiting = (checks[i] as Check)(request, reply)
      // What has been responded to meanwhile, such as by a timeout, goes no further.
      if (waiting !== undefined)
        return waiting.then(() => (reply.sent ? undefined : runFrom(i + 1, request, reply)))
    }
    return undefined
  }
  return (request, reply, done) => {
    const waiting = runFrom(0, request, reply)
    if (waiting === undefined) done()
    return waiting // Fastify goes on when it resolves
  }
}

function hasHead({ prefix, path }: Operation, { operations }: Contract): boolean {
  const isHead = (each: Operation) => each.method === 'HEAD' && each.prefix + each.path === prefix + path
  return [...operations.values()].some(isHead)
}

// Each operation has one of its prefix.
function addressFor<Resource>({ prefix }: Operation, { addresses }: Shared<Resource>): Address {
  return addresses.get(prefix) as Address
}

// The router cannot use every name of the contract: these path parameters get their own names back.
function renamePathParameters({ parameters }: Operation): Check | undefined {
  const names = parameters
    .filter((each) => each.in === 'path')
    .map(({ name }) => [name, routeName(name)] as const)
    .filter(([name, inRoute]) => inRoute !== name)
  if (names.length === 0) return undefined
  return ({ params }) => {
    const values = params as Record<string, unknown>
    for (const [name, inRoute] of names) {
      values[name] = values[inRoute]
      delete values[inRoute]
    }
  }
}

// For HEAD no range is defined (RFC 9110, section 14.2): its head is that of the whole.
function ignoreRange({ parameters }: Operation): Check | undefined {
  const range = parameters.find((each) => each.in === 'header' && each.name.toLowerCase() === 'range')
  if (range === undefined || range.required) return undefined
  return ({ method, headers }) => {
    if (method !== 'HEAD') return
    delete headers.range
    delete headers['if-range'] // which means nothing without it (section 13.1.5)
  }
}

// The compiler has checked that each handler takes what its operation declares; validation ensures it.
function handlerOf({ id, name }: Operation, { handlers }: Pick<MountParts<never>, 'handlers'>): AnyHandler {
  const handler = (handlers as Readonly<Record<string, AnyHandler | undefined>>)[name]
  if (handler === undefined) throw new ContractError(`${id} has no handler`)
  return handler
}

// Across operations: which schemes one credential would meet, and checks of schemes that there are not.
function noteSecurity<Resource>(shared: Shared<Resource>): void {
  const { contract, problems, security } = shared
  const implemented = [...contract.operations.values()].filter((each) => !isStub(handlerOf(each, shared)))
  for (const problem of ambiguities(implemented, contract, security.checks))
    problems.set(problem.text, problem)
  for (const name of security.checks.keys()) {
    if (contract.securitySchemes.has(name)) continue
    const text = `there is a check of ${name}, which is no security scheme of the contract`
    problems.set(text, { text, at: ['components', 'securitySchemes'] })
  }
}

// If the server cannot check an operation's requirements: 501; with a handler, startup has failed already.
// A key in the query is taken out, whatever the operation requires.
function securityCheck(operation: Operation, unmet: string | undefined, security: Security): Check {
  if (unmet !== undefined) {
    return (request) => {
      security.takeQueryKeys(request)
      throw ownError('not_implemented', unmet)
    }
  }
  if (operation.security.length === 0) return (request) => security.takeQueryKeys(request)
  return (request) => {
    const verdict = security.authenticate(request, operation)
    return verdict instanceof Promise ? verdict.then(pass) : pass(verdict)
  }
}

function pass({ refusal }: Verdict): void {
  if (refusal !== undefined) throw refusal
}
