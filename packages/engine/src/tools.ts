// The engine's second door, for programs that examine contracts: the document's parts, the walks over its
// schemas, and what the server makes of both. A server needs none of it (index.ts).

export { compileCode } from './code/print.js'
export { type Kind, type Place, placeIn, wholeDocument } from './contract/component-kinds.js'
export { readContents } from './contract/content.js'
export type { Content, Field, Parameter, Response, Schema } from './contract/contract.js'
export type { Problem } from './contract/contract-error.js'
export { withDecisions } from './contract/decided.js'
export { defaultLimits, ownErrorStatuses } from './contract/defaults.js'
export { sunsets } from './contract/deprecation.js'
export { withoutDynamicRefs } from './contract/dynamic-refs.js'
export { filesOf, type ReadText, UnreadFile } from './contract/file-text.js'
export { readSource } from './contract/files.js'
export { framingOf } from './contract/framing.js'
export { withSchemaOfItem } from './contract/items.js'
export { keepAliveOf } from './contract/keep-alive.js'
export {
  type AnySchema,
  extendedBy,
  mapMembers,
  nestingIn,
  ofOtherDrafts,
  outermost,
  schemaKeywords,
  schemasIn,
  subschemasOf,
} from './contract/keywords.js'
export { accepts, essence, isJson, isRange, responseContent } from './contract/media-types.js'
export { methodFields, methodsOfNode, operationsIn, problemOf } from './contract/methods.js'
export { pathParameterNames } from './contract/names.js'
export { addOmitted } from './contract/omitted.js'
export { effectiveParameters } from './contract/parameters.js'
export { patternSource } from './contract/patterns.js'
export { plainField } from './contract/plain-field.js'
export { pointerTo, resolvePointer } from './contract/pointer.js'
export { ordersFields } from './contract/read-uploads.js'
export { type Node, nodeOf, Reader } from './contract/reader.js'
export { resolved } from './contract/resolved.js'
export { successesAmong } from './contract/responses.js'
export { placesOf } from './contract/schema-places.js'
export { withSchemeNames } from './contract/scheme-names.js'
export {
  areSentAlike,
  credentialPlace,
  effectiveSecurity,
  isPublic,
  kindOf,
  unmetSecurity,
} from './contract/security.js'
export { withOwnRefs } from './contract/self.js'
export { readPrefix } from './contract/servers.js'
export { toSchema31 } from './contract/upgrade.js'
export { isOpenApi30, isOpenApi32, versionProblem } from './contract/versions.js'
export { toOpenApi30 } from './documents/openapi-3.0.js'
export { withoutOpenApi32 } from './documents/openapi-3.1.js'
export { documentPaths, replacedPaths } from './own-paths.js'
export { decodePlan, encodePlan, type PlanBody } from './plan/plan.js'
export { toContract } from './read.js'
export { serverErrors, undeclaredErrors } from './response/additions.js'
export { byStatus } from './response/response-validation.js'
export { formats } from './schemas/formats.js'
export { createSchemaAt, refOf } from './schemas/references.js'
export { unnamedCodes } from './security/addition.js'
export { isStub } from './stubs.js'
