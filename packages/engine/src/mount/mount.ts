// Mounts a contract on a Fastify instance. fastify-openapi-glue makes a route for each operation, with the
// options that `routeOptions` returns; read them to follow a request. Problems of the contract and of the
// handlers are collected, and stop the startup.

import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import type { Contract, Operation } from '../document/contract.js'
import { ContractError } from '../document/contract-error.js'
import { essence } from '../document/media-types.js'
import { problemOf } from '../document/methods.js'
import { isStub } from '../document/stubs.js'
import { OperatorError } from '../lib/operator-error.js'
import { glueSpecification, isOfGlue } from '../serve/glue/glue-specification.js'
import { addressOf } from '../serve/paths/address.js'
import { noteMounted } from '../serve/paths/mounted.js'
import { notFoundHandler } from '../serve/paths/not-found.js'
import { BodyMemory } from '../serve/request/body-memory.js'
import { receiveBody } from '../serve/request/receive.js'
import { decorateRequests } from '../serve/request/request-parts.js'
import { addSunsetWarnings } from '../serve/response/deprecation.js'
import { errorForms } from '../serve/response/error-forms.js'
import { errorHandler } from '../serve/response/error-response.js'
import { securityAddition } from '../serve/security/addition.js'
import { ambiguities } from '../serve/security/ambiguities.js'
import { Security } from '../serve/security/security.js'
import { functionsOf, handlerOf, type MountParts, missingHandlers, type Shared } from './parts.js'
import { located, type Problems } from './problems.js'
import { routeOptions } from './route-options.js'
import { prepareRouter } from './router.js'

/**
 * Adds every operation of a contract to a Fastify instance, in a scope of its own.
 * @throws {ContractError} if an operation has no handler or cannot be served, or if the application's router
 * is unfit
 */
export async function mount<Resource>(app: FastifyInstance, parts: MountParts<Resource>): Promise<void> {
  const { contract } = parts
  prepareRouter(app, contract)
  await checkHandlers(parts)
  const compilers: Shared<Resource>['compilers'] = []
  const problems: Problems = new Map()
  let refusal: ContractError | undefined
  await app.register(async (scope) => {
    const shared = sharedIn(scope, parts, { compilers, problems })
    noteMounted(scope, shared.mounted, shared.prefixOf)
    scope.setErrorHandler(parts.errorHandler ?? errorHandler(contract, parts))
    decorateRequests(scope)
    receiveBodies(scope, parts)
    await addRoutes(scope, shared)
    noteSecurity(shared)
    scope.addHook('onReady', async () => {
      if (refusal !== undefined) throw refusal
    })
    addSunsetWarnings(scope, contract)
  })
  // Runs outside the scope, because Fastify gives a plugin ten seconds, and a large contract on a slow
  // machine may need more.
  for (const compile of compilers) compile()
  const found = await located([...problems.values()], contract)
  if (found.length === 0) return
  refusal = new ContractError(found, await contract.locate(found))
  throw refusal
}

async function checkHandlers(parts: Parameters<typeof missingHandlers>[0]): Promise<void> {
  const problems = missingHandlers(parts).map((each) =>
    problemOf(each, `${each.id} has no handler, nor a stub, which notImplemented('${each.name}') makes`),
  )
  if (problems.length > 0) throw new ContractError(problems, await parts.contract.locate(problems))
}

function sharedIn<Resource>(
  app: FastifyInstance,
  parts: MountParts<Resource>,
  found: Pick<Shared<Resource>, 'compilers' | 'problems'>,
): Shared<Resource> {
  const { contract, security: checks = {}, cookieOrigins, additions = [], address } = parts
  const security =
    checks instanceof Security ? checks : new Security(contract, checks, { cookieOrigins, address })
  return {
    ...parts,
    ...functionsOf(contract),
    security,
    additions: [securityAddition(security), ...additions],
    ...found,
    mounted: { contract, errorBody: parts.errorBody },
    errorForms: errorForms(contract, parts.errorBody),
    addresses: new Map(
      [...byPrefix(contract).keys()].map((own) => [own, addressOf(app, contract, address, own)]),
    ),
    refuseUnknown: notFoundHandler(app, contract),
    prefixOf: ({ prefix }) => app.prefix.replace(/\/$/, '') + decodeURI(prefix),
  }
}

// Groups operations by their prefix. Most contracts have a single prefix.
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
    const options = {
      specification: glueSpecification(contract, operations),
      prefix,
      // glue knows only the contract's operations, and adds `method` and `url`
      operationResolver: (id: string) =>
        routeOptions(contract.operations.get(id) as Operation, shared) as RouteOptions,
    }
    try {
      await app.register(glue, options)
    } catch (error) {
      throw adviceOnBundle(error as Error) ?? error
    }
    const others = operations.filter(({ method }) => !isOfGlue(method))
    if (others.length > 0) await app.register(async (scope) => addOthers(scope, others, shared), { prefix })
  }
}

// A specification made by the engine is valid, so glue refuses it only if its validator cannot find the
// schema of OpenAPI, as in a bundle.
function adviceOnBundle({ message }: Error): OperatorError | undefined {
  if (!message.includes('valid specification')) return undefined
  const replacement = 'contract-engine/valid-specification'
  return new OperatorError(
    `glue cannot read the schema of OpenAPI: in a bundle, replace @seriousme/openapi-schema-validator by ${replacement}`,
  )
}

// Adds routes for QUERY and for the additional operations of OpenAPI 3.2: glue 4.11 makes none for them.
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

// Accepts bodies of any type here, because `checkMediaType` accepts or refuses the type by operation. The
// declared types are listed, because glue warns about a type without a parser.
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

// Refuses an operation whose route the application already has. Fastify's own error would not name the
// operation.
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

// Notes problems of all operations together: schemes that the same credential would meet, and checks of
// schemes that the contract does not have.
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
