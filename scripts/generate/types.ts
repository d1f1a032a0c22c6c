// The schemas as types, by openapi-typescript. An int64 is a bigint: a number would round it.

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Contract } from '../../src/contract/types.js'
import { header } from './header.js'

// Not imported: Node looks through TypeScript's nine megabytes for its exports then, a second of every run.
const require = createRequire(import.meta.url)
const ts: typeof import('typescript') = require('typescript')
const {
  default: openapiTypes,
  astToString,
}: typeof import('openapi-typescript') = require('openapi-typescript')

/** The text of generated/types.ts. */
export async function generateTypes(contractFile: string, contract: Contract): Promise<string> {
  const nodes = await openapiTypes(pathToFileURL(contractFile), {
    silent: true,
    readWriteMarkers: contract.hasOneWayFields,
    transform: ({ type, format }) => (type === 'integer' && format === 'int64' ? bigint : undefined),
  })
  return header + astToString(nodes)
}

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
