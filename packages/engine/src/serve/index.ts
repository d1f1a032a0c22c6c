// The engine's door for servers: an OpenAPI document in, validated and typed routes on a Fastify instance
// out. README.md is its page; compile/ is the door for what reads a contract's files, tools.ts that
// for programs that examine contracts.

export type { Contract, Operation, SecurityScheme } from '../document/contract.js'
export { ContractError, type Problem } from '../document/contract-error.js'
export type { ExtensionReader, OperationExtensionReader } from '../document/extension-readers.js'
export { filesOf } from '../document/file-text.js'
export { RequestError, type Violation } from '../document/request-error.js'
export { credentialUsage, isPublic } from '../document/security.js'
export type { ErrorFacts } from './base/errors.js'
export { notFoundHandler } from './base/not-found.js'
export { operationAt } from './base/own-paths.js'
export { isStub, notImplemented, type Stub } from './base/stubs.js'
export type { Code } from './code/code.js'
export { withCode } from './code/load.js'
export { withoutCompilers } from './code/without-compilers.js'
export { contractFiles } from './documents/contract-files.js'
export { documentation } from './documents/page.js'
export { type LoadOptions, loadContract } from './load-contract.js'
export { mount } from './mount.js'
export { type Callbacks, createOutgoing, type OutgoingRequest, type Webhooks } from './outgoing/outgoing.js'
export type { Signing } from './outgoing/signature.js'
export { BodyMemory } from './request/body-memory.js'
export { createRequestIdCheck } from './request/request-id.js'
export { requestParts } from './request/request-parts.js'
export { type Upload, uploadOf } from './request/upload.js'
export type { Addition } from './response/additions.js'
export { clientErrorHandler } from './response/client-errors.js'
export { EndlessBody } from './response/endless-body.js'
export type { ErrorBodyOf } from './response/error-forms.js'
export { errorHandler, errorResponses } from './response/error-response.js'
export { type Range, type RangeHeaders, rangeOf, type Validators } from './response/ranges.js'
export type { SerializedResponse } from './response/response-serialization.js'
export { cutResponse, mayStream, onlyStreams } from './response/response-stream.js'
export type { Around, Handlers } from './route-handler.js'
export { securityAddition } from './security/addition.js'
export type {
  AnyCheck,
  Caller,
  Check,
  CheckErrors,
  CheckList,
  Credential,
  Demand,
  UsernamePassword,
} from './security/check.js'
export type { Checks } from './security/checks.js'
export type { CookieOptions } from './security/cookie-guard.js'
export { createSecurity, type Security, verdictOf } from './security/security.js'
export type { Verdict } from './security/verdict.js'
