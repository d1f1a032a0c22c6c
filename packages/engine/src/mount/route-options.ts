// The options of an operation's route: its hooks, its schemas with their compilers, and its handler.

import type { onSendHookHandler, RouteOptions } from 'fastify'
import type { Contract, Operation } from '../document/contract.js'
import type { FunctionName, Validator } from '../document/functions.js'
import { problemOf } from '../document/methods.js'
import { ownError } from '../document/request-error.js'
import { unmetSecurity } from '../document/security.js'
import { isStub } from '../document/stubs.js'
import { takesUploads } from '../document/uploads.js'
import { isStream } from '../kinds/index.js'
import type { Address } from '../serve/paths/address.js'
import { routeCheck } from '../serve/paths/not-found.js'
import { itemsReceiver } from '../serve/request/arriving-items.js'
import { createParameterReader } from '../serve/request/parameter-styles.js'
import { bodyCheck, hasNoBody, parseBody, requestCheck } from '../serve/request/request-validation.js'
import { uploadOf } from '../serve/request/upload.js'
import { ownAddition, provedHeaders } from '../serve/response/additions.js'
import { deprecationCheck, deprecationHeaders, sunsetCheck } from '../serve/response/deprecation.js'
import type { ErrorForm } from '../serve/response/error-forms.js'
import { createJsonWriters } from '../serve/response/response-serialization.js'
import type { ResponseCheck } from '../serve/response/response-validation.js'
import { type AnyHandler, createRouteHandler, type ResponseParts } from '../serve/route-handler.js'
import { acceptCheck, hook, ignoreRange, type RouteCheck, renamePathParameters } from './checks.js'
import { handlerOf, type Shared } from './parts.js'
import { collect, note } from './problems.js'
import { additionFaults, missingCodes, placeOf } from './prove-additions.js'

type RouteOptionsOfGlue = Omit<RouteOptions, 'method' | 'url'>

/** Returns the options of an operation's route, and notes as problems what the operation lacks. */
export function routeOptions<Resource>(operation: Operation, shared: Shared<Resource>): RouteOptionsOfGlue {
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
  const address = addressFor(operation, shared)
  const deprecation = deprecationHeaders(operation, contract, address)
  const first = [
    routeCheck(operation, contract, shared.refuseUnknown),
    security.checkOf(operation, unmet[0]?.text),
    deprecation && deprecationCheck(deprecation), // errors get them from `config`
  ].filter((each) => each !== undefined)
  return {
    config: { operation, mounted: shared.mounted, address, deprecation, responseCheck, errorForm },
    bodyLimit: operation.limits.body,
    // Fastify adds HEAD to every GET. It must not if the contract declares a HEAD of its own.
    exposeHeadRoute: !hasHead(operation, contract),
    ...(isImplemented && responseCheck && errorForm
      ? implemented(operation, handler, { check: responseCheck, errorForm, proved }, first, shared)
      : refused(operation, first)),
  }
}

// Responds 501 before the body is read, since nothing would check it.
function refused({ id }: Operation, first: readonly RouteCheck[]) {
  const refuse: RouteCheck = () => {
    throw ownError('not_implemented', `${id} is not implemented.`)
  }
  return { schema: {}, onRequest: hook(...first, refuse), handler: async () => {} }
}

function implemented<Resource>(
  operation: Operation,
  handler: AnyHandler,
  responses: Omit<ResponseParts, 'writers'>,
  first: readonly RouteCheck[],
  shared: Shared<Resource>,
) {
  const { functions } = shared
  const prefix = shared.prefixOf(operation)
  const readParameters = collect(operation, shared, () => createParameterReader(operation, prefix, functions))
  const receiveItems = collect(operation, shared, () => itemsReceiver(operation, functions))
  const reading = [
    renamePathParameters(operation),
    ignoreRange(operation),
    hasNoBody(operation) ? undefined : (parseBody satisfies RouteCheck),
    receiveItems,
    readParameters,
  ].filter((each) => each !== undefined)
  return {
    schema: judgedParts(operation),
    validatorCompiler: validatorCompiler(operation, shared),
    attachValidation: true, // checkRequest reports what Fastify finds
    onRequest: hook(...first, sunsetCheck(operation), acceptCheck(operation), bodyCheck(operation)),
    ...(reading.length > 0 && { preValidation: hook(...reading) }),
    preHandler: requestCheck(operation),
    ...(takesUploads(operation) && { onSend: closeIfUnread }),
    handler: createRouteHandler(
      operation,
      handler,
      { ...responses, writers: createJsonWriters(operation, functions) },
      { ...shared, address: addressFor(operation, shared) },
    ),
  }
}

// Closes the connection if the handler has not read all of the body: the server does not receive the rest, so
// it cannot know where the next request begins.
const closeIfUnread: onSendHookHandler = (request, reply, payload, done) => {
  if (uploadOf(request)?.hasArrived === false) reply.header('Connection', 'close')
  done(null, payload)
}

/** Takes the place of a schema, for Fastify. */
interface Judged {
  readonly judge: FunctionName
}

// Returns the parts that Fastify validates. It compares these media types with the one that `checkMediaType`
// gives to a body. Cookies are validated where they are read, and items one by one.
function judgedParts({ judges: { cookies: _, ...judges }, body }: Operation) {
  const parts = Object.entries(judges).map(([part, judge]): [string, Judged] => [part, { judge }])
  const content = bodyJudges(body).map(([mediaType, judge]) => [mediaType, { schema: { judge } }])
  return {
    ...Object.fromEntries(parts),
    ...(content.length > 0 && { body: { content: Object.fromEntries(content) } }),
  }
}

function bodyJudges(body: Operation['body']): [mediaType: string, judge: FunctionName][] {
  return (body?.contents ?? []).flatMap((each): [string, FunctionName][] =>
    each.judge === undefined || isStream(each) ? [] : [[each.mediaType, each.judge]],
  )
}

// Compiles all schemas at mount. Fastify would compile them when the application is ready, and would stop at
// the first schema that fails, but all problems must be known at mount.
function validatorCompiler<Resource>(operation: Operation, shared: Shared<Resource>) {
  const { cookies: _, ...judges } = operation.judges
  const names = [...Object.values(judges), ...bodyJudges(operation.body).map(([, judge]) => judge)]
  const validators = new Map<FunctionName, Validator>()
  shared.compilers.push(() => {
    for (const name of names) {
      const validate = collect(operation, shared, () => shared.functions.validator(name))
      if (validate !== undefined) validators.set(name, validate)
    }
  })
  // Fastify passes the values of `judgedParts`.
  return ({ schema }: { schema: unknown }) => validators.get((schema as Judged).judge) ?? (() => true)
}

function checkOf<Resource>(
  operation: Operation,
  isImplemented: boolean,
  shared: Shared<Resource>,
): ResponseCheck | undefined {
  return collect(operation, shared, () => shared.responseCheckOf(operation, isImplemented))
}

// Checks that the server's additions to an operation's responses match the contract.
function checkAdditions<Resource>(
  operation: Operation,
  check: ResponseCheck,
  form: ErrorForm,
  isImplemented: boolean,
  { contract, additions, problems }: Shared<Resource>,
): void {
  for (const { text, at } of missingCodes(operation, contract, additions)) problems.set(text, { text, at })
  const parts = { check, form, isImplemented }
  for (const fault of additionFaults(operation, parts, contract, [ownAddition, ...additions]))
    note(problems, fault, placeOf(operation, fault))
}

function hasHead({ prefix, path }: Operation, { operations }: Contract): boolean {
  const isHead = (each: Operation) => each.method === 'HEAD' && each.prefix + each.path === prefix + path
  return [...operations.values()].some(isHead)
}

// There is an address for each prefix.
function addressFor<Resource>({ prefix }: Operation, { addresses }: Shared<Resource>): Address {
  return addresses.get(prefix) as Address
}
