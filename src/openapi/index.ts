// The engine's only door: an OpenAPI document in, validated and typed routes on a Fastify instance out.
// README.md is its page.

export type {
  Content,
  Contract,
  Field,
  Header,
  Operation,
  Parameter,
  Quotas,
  RateLimits,
  Response,
} from './contract/contract.js'
export { ContractError, type Problem } from './contract/contract-error.js'
export { withDecisions } from './contract/decided.js'
export { defaultErrorStatuses } from './contract/defaults.js'
export { sunsets } from './contract/deprecation.js'
export { hasOtherThanText } from './contract/discriminator.js'
export { type ReadText, readSource } from './contract/files.js'
export {
  type AnySchema,
  type Context,
  contextIn,
  dataFields,
  mapMembers,
  outermost,
  pathItemFields,
  referenceFields,
  schemaKeywords,
  schemasIn,
} from './contract/keywords.js'
export { essence, isJson, isRange, responseContent } from './contract/media-types.js'
export { isSafe, pathParameterNames, servedMethods } from './contract/names.js'
export { problemOf } from './contract/operations.js'
export { isIgnoredParameter } from './contract/parameters.js'
export { customPlan, fixedPlans } from './contract/plans.js'
export { resolvePointer } from './contract/pointer.js'
export { readContract, toContract } from './contract/read.js'
export { type Node, nodeOf, nodesOf, Reader } from './contract/reader.js'
export { unsupportedSecurity } from './contract/security.js'
export { isOpenApi30, rounded, toSchema31 } from './contract/upgrade.js'
export { addContractFiles } from './documents/contract-files.js'
export { addDocumentation } from './documents/page.js'
export {
  type ErrorBody,
  errorBody,
  RequestError,
  requestFault,
  type ServerErrorCode,
  toRequestError,
  unavailable,
} from './errors.js'
export { type MountParts, mount } from './mount.js'
export { collectMethods, hasRoute, notFound } from './not-found.js'
export { operationAt, replacedPaths } from './own-paths.js'
export { createRequestIdCheck } from './request/request-id.js'
export { type Addition, anyError } from './response/additions.js'
export { warnOfSunsets } from './response/deprecation.js'
export { createErrorHandler, sendError } from './response/error-response.js'
export { selfReference } from './response/relative-references.js'
export type { SerializedResponse } from './response/response-serialization.js'
export { byStatus, type ResponseCheck } from './response/response-validation.js'
export type { Around, Respond } from './route-handler.js'
export { isStub, notImplemented } from './stubs.js'
