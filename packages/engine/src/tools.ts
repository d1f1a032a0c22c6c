// The engine's second door, for programs that examine contracts: the parts of the document, the walks over
// its schemas, and the server's view of both. A server needs none of it (serve/).

export { servedFiles } from './compile/compile-contract.js'
export { readContents } from './compile/contract/content.js'
export { hiddenTexts } from './compile/contract/hidden-texts.js'
export { effectiveParameters } from './compile/contract/parameters.js'
export { ordersFields } from './compile/contract/read-uploads.js'
export { readPrefix } from './compile/contract/servers.js'
export { type ExampleRequest, exampleRequest } from './compile/documents/example-request.js'
export { toOpenApi30 } from './compile/documents/openapi-3.0.js'
export { withoutOpenApi32 } from './compile/documents/openapi-3.1.js'
export { patternText } from './compile/examples/pattern-text.js'
export { toContract } from './compile/read.js'
export { createSchemaAt, refOf } from './compile/schemas/references.js'
export { withDecisions } from './compile/source/decided.js'
export { withoutDynamicRefs } from './compile/source/dynamic-refs.js'
export { readSource } from './compile/source/files.js'
export { addOmitted } from './compile/source/omitted.js'
export { resolved } from './compile/source/resolved.js'
export { withSchemeNames } from './compile/source/scheme-names.js'
export { withOwnRefs } from './compile/source/self.js'
export { toSchema31 } from './compile/source/upgrade.js'
export { referencesIn } from './document/component-kinds.js'
export type { Content, Field, Parameter, ParameterForm, Response, Schema } from './document/contract.js'
export { ContractError, type Problem } from './document/contract-error.js'
export { defaultLimits, heldBytesMax, ownErrorStatuses } from './document/defaults.js'
export { sunsets } from './document/deprecation.js'
export { filesOf, type ReadText, UnreadFile } from './document/file-text.js'
export { framingOf, keepAliveOf } from './document/framing.js'
export {
  type AnySchema,
  annotations,
  extendedBy,
  keywordTypes,
  ofOtherDrafts,
  schemaKeywords,
  schemasIn,
  subschemasOf,
} from './document/keywords.js'
export { accepts, essence, isJson, isRange, parametersOf, responseContent } from './document/media-types.js'
export { isSafe, methodFields, methodsOfNode, operationsIn, problemOf } from './document/methods.js'
export { pathParameterNames } from './document/names.js'
export { patternSource } from './document/patterns.js'
export { endlessRefs, pointerKeys, pointerTo, resolvePointer } from './document/pointer.js'
export { type Node, nodeOf, Reader } from './document/reader.js'
export { successesAmong } from './document/responses.js'
export { dividedPath, rivalsOf } from './document/routes.js'
export { placesOf } from './document/schema-places.js'
export {
  areSentAlike,
  credentialPlace,
  effectiveSecurity,
  isPublic,
  schemeKind,
  unmetSecurity,
} from './document/security.js'
export { isStub } from './document/stubs.js'
export { isOpenApi30, isOpenApi32, versionProblem } from './document/versions.js'
export { type NodeKind, pathOf, placeIn, walk, wholeDocument } from './document/walk.js'
export { proxyWarnings } from './generate/proxies.js'
export { withSchemaOfRows } from './kinds/csv/declared.js'
export { plainField } from './kinds/form/served.js'
export { isStream, kindOf, receivedAs } from './kinds/index.js'
export { withSchemaOfItem } from './kinds/stream/declared.js'
export { decodePlan, encodePlan, type PlanBody } from './plan/plan.js'
export { formats } from './runtime/formats.js'
export { documentPaths, replacedPaths } from './serve/paths/own-paths.js'
export { serverErrors, undeclaredErrors } from './serve/response/additions.js'
export { byStatus } from './serve/response/response-validation.js'
export { unnamedCodes } from './serve/security/addition.js'
