// The engine's door for servers: an OpenAPI document in, validated and typed routes on a Fastify instance
// out. README.md is its page; compile/ is the door for what reads a contract's files, tools.ts that
// for programs that examine contracts.

export type { Contract, Operation, SecurityScheme } from './document/contract.js'
export { ContractError, type Problem } from './document/contract-error.js'
export type { ExtensionReader, OperationExtensionReader } from './document/extension-readers.js'
export { filesOf } from './document/file-text.js'
export { RequestError, type Violation } from './document/request-error.js'
export { credentialPair, credentialUsage, isPublic } from './document/security.js'
export { isStub, notImplemented, type Stub } from './document/stubs.js'
export { takesUploads } from './document/uploads.js'
export { mount } from './mount/mount.js'
export { withoutCompilers } from './serve/code/load.js'
export { contractFiles } from './serve/documents/contract-files.js'
export { documentation } from './serve/documents/page.js'
export { type LoadOptions, loadContract } from './serve/load-contract.js'
export {
  type Callbacks,
  createOutgoing,
  type OutgoingRequest,
  type Webhooks,
} from './serve/outgoing/outgoing.js'
export type { Signing } from './serve/outgoing/signature.js'
export { contractBelow } from './serve/paths/mounted.js'
export { notFoundHandler } from './serve/paths/not-found.js'
export { operationAt } from './serve/paths/own-paths.js'
export { BodyMemory } from './serve/request/body-memory.js'
export type { ErrorFacts } from './serve/request/errors.js'
export { createRequestIdCheck } from './serve/request/request-id.js'
export { requestParts } from './serve/request/request-parts.js'
export { StorageError, type StoredFile, storeUpload } from './serve/request/store-upload.js'
export { type Upload, uploadOf } from './serve/request/upload.js'
export { refusedValue } from './serve/request/violations.js'
export type { Addition } from './serve/response/additions.js'
export { type ClientErrorOptions, clientErrorHandler, clientFaults } from './serve/response/client-errors.js'
export type { ErrorBodyOf } from './serve/response/error-forms.js'
export { errorHandler, errorResponses } from './serve/response/error-response.js'
export { type Range, type RangeHeaders, rangeOf, type Validators } from './serve/response/ranges.js'
export type { SerializedResponse } from './serve/response/response-serialization.js'
export { cutResponse, EndlessBody, mayStream, onlyStreams } from './serve/response/response-stream.js'
export type { Around, Handlers } from './serve/route-handler.js'
export { securityAddition } from './serve/security/addition.js'
export type {
  AnyCheck,
  Caller,
  Check,
  CheckErrors,
  CheckList,
  Credential,
  Demand,
  UsernamePassword,
  Verdict,
} from './serve/security/check.js'
export type { Checks } from './serve/security/checks.js'
export type { CookieOptions } from './serve/security/cookie-guard.js'
export { createSecurity, type Security, verdictOf } from './serve/security/security.js'
