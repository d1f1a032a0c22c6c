// `<<` of YAML 1.1, a merge, is a name like any other in 1.2, which OpenAPI uses. Authors of contracts write
// it before what has an anchor; libraries write a property of that name in the same way, before its own
// value.

import { type Document, isAlias, isMap, isScalar, isSeq, Scalar, visit } from 'yaml'

/** In YAML, the tag of a merge: some tools write `!!merge <<: *anchor`. */
export const mergeTag = 'tag:yaml.org,2002:merge'

/** Makes each `<<` of a document that merges nothing a name. */
export function nameUnmerged(document: Document.Parsed): void {
  visit(document, {
    Pair(_, pair) {
      const { key, value } = pair
      if (!isMerge(key) || key.tag === mergeTag || isAnchored(value)) return
      pair.key = Object.assign(new Scalar('<<'), { type: Scalar.QUOTE_DOUBLE, range: key.range })
    },
  })
}

/** Whether a key merges: the parser makes it a symbol. */
export function isMerge(key: unknown): key is Scalar {
  return isScalar(key) && typeof key.value === 'symbol'
}

function isAnchored(value: unknown): boolean {
  if (isAlias(value)) return true
  if (isSeq(value)) return value.items.some(isAnchored)
  return isMap(value) && value.anchor !== undefined
}
