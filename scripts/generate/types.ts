// The schemas as types, by openapi-typescript. An int64 is a bigint: a number would round it.

import { pathToFileURL } from 'node:url'
import openapiTypes, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import type { Contract } from '../../src/contract/document.js'
import { header } from './header.js'

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
