// The schemas as types, by openapi-typescript. An int64 is a bigint: a number would round it.

import { createRequire } from 'node:module'
import { isIgnoredParameter } from '../../src/contract/parameters.js'
import { Reader } from '../../src/contract/reader.js'
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
export async function generateTypes(contract: Contract): Promise<string> {
  // Its type of a document does not matter: the lint has seen that this is one.
  const nodes = await openapiTypes(withTypedParameters(contract.document) as never, {
    silent: true,
    readWriteMarkers: contract.hasOneWayFields,
    transform: ({ type, format }) => (type === 'integer' && format === 'int64' ? bigint : undefined),
  })
  return header + astToString(nodes)
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
