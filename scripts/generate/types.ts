// The schemas as types, by openapi-typescript. An int64 is a bigint: a number would round it.

import { createRequire } from 'node:module'
import { createConfig } from '@redocly/openapi-core'
import type { GlobalContext, OpenAPI3 } from 'openapi-typescript'
import { isIgnoredParameter } from '../../src/contract/parameters.js'
import { Reader } from '../../src/contract/reader.js'
import type { Contract } from '../../src/contract/types.js'
import { header } from './header.js'

// Not imported: Node looks through TypeScript's nine megabytes for its exports then, a second of every run.
const require = createRequire(import.meta.url)
const ts: typeof import('typescript') = require('typescript')
const {
  astToString,
  resolveRef,
  scanDiscriminators,
  transformSchema,
}: typeof import('openapi-typescript') = require('openapi-typescript')

/** The text of generated/types.ts. */
export async function generateTypes(contract: Contract): Promise<string> {
  // Its type of a document does not matter: the lint has seen that this is one.
  const document = withTypedParameters(contract.document) as OpenAPI3
  return header + astToString(transformSchema(document, await context(document, contract.hasOneWayFields)))
}

// openapi-typescript's defaults. Its main function would lint and bundle the document once more, by stricter rules than ours.
async function context(document: OpenAPI3, readWriteMarkers: boolean): Promise<GlobalContext> {
  const silent = { silent: true }
  return {
    additionalProperties: false,
    alphabetize: false,
    arrayLength: false,
    defaultNonNullable: true,
    discriminators: scanDiscriminators(document, silent),
    emptyObjectsUnknown: false,
    enum: false,
    enumValues: false,
    conditionalEnums: false,
    dedupeEnums: false,
    excludeDeprecated: false,
    exportType: false,
    immutable: false,
    rootTypes: false,
    rootTypesNoSchemaPrefix: false,
    rootTypesKeepCasing: false,
    injectFooter: [],
    pathParamsAsTypes: false,
    postTransform: undefined,
    propertiesRequiredByDefault: false,
    redoc: await createConfig({}),
    ...silent,
    transformProperty: undefined,
    makePathsEnum: false,
    generatePathParams: false,
    readWriteMarkers,
    resolve: ($ref) => resolveRef(document, $ref, silent),
    transform: ({ type, format }) => (type === 'integer' && format === 'int64' ? bigint : undefined),
  }
}

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)

// openapi-typescript takes the JSON of a parameter's `content` for text, and knows no parameter that is to be ignored.
function withTypedParameters(document: object): object {
  const reader = new Reader(document)
  const typed = (node: unknown, at = ''): unknown => {
    if (Array.isArray(node)) {
      const isIgnored = (each: unknown) => at === 'parameters' && isIgnoredParameter(reader.node(each))
      return node.filter((each) => !isIgnored(each)).map((each) => typed(each))
    }
    if (typeof node !== 'object' || node === null) return node
    const copy = Object.fromEntries(Object.entries(node).map(([key, each]) => [key, typed(each, key)]))
    const { name, in: location, content } = copy
    if (typeof name !== 'string' || typeof location !== 'string' || content === undefined) return copy
    const [media] = Object.values(reader.node(content))
    return { ...copy, schema: reader.node(media).schema ?? {} }
  }
  return typed(document) as object
}
